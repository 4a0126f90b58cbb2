"""The dialect of the Cursor CLI: its command line, its records, its servers."""
