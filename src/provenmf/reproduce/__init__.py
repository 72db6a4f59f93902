"""The papers' tables and figures, with their numbers beside ours."""
