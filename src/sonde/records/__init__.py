"""The words: frozen records that flow between the rooms. They know nothing but each other."""
