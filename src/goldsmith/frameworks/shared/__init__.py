"""What libraries have in common that know models by the names of their arrays, differentiate functions, have no hooks.

Nothing here knows a library: it asks that through the seam. What a framework leaves out, `usual_*.py` answer.
"""
