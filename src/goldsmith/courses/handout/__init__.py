"""`handout`: make a kit with which students check their own work, without the answers, and judge work by it."""
