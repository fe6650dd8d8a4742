"""Menus at a terminal: rows in columns, one to choose or several to tick. What is asked is `cli`'s to say.

Nothing here knows courses or gold. The terminal's library is imported when a menu is opened.
"""
