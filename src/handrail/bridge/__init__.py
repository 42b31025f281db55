"""The server: sessions that outlive their clients, for browsers, phones and programs."""
