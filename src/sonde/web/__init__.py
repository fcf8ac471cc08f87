"""The dashboard's server: windows of time in, answers out; it reads, and asks jobs politely."""
