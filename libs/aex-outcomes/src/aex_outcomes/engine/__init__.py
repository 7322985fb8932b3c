"""Verification engine, which computes a candidate's verdict, bonus and penalty from its criteria."""
