"""Chart specs drawn as SVG, HTML, PNG and text; knows nothing about jobs."""
