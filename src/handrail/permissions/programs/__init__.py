"""What programs do with their arguments, as tables and the code that reads them."""
