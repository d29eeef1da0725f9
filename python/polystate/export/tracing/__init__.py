"""From a method to a graph that equals it over the whole of its ranges."""
