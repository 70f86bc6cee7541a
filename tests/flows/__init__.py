"""Random programs of several tiles whose results do not depend on time, and what they compute."""
