"""Which page of the example database tells of a message that another step of the export gives."""

from __future__ import annotations

# A regular expression for the message, and the page.
PAGES: tuple[tuple[str, str], ...] = (
    (r"changes the attribute '.*self\.used\.add_", "list_that_grows"),
    (r"changes the attribute '.*each of its values a buffer", "dictionary_that_changes"),
    (r"changes the attribute '", "attribute_that_changes"),
    (r"changes the parameter '", "parameter_that_changes"),
    (r"registers the buffer '", "buffer_registered_late"),
    (r"changes the buffer '.* from \w+\[.* to \w+\[", "buffer_that_grows"),
    (r"gives the buffer '.*' other memory", "buffer_data"),
    (r"sets the buffer '.* to memory of", "buffers_that_exchange_names"),
    (r"changes .* shares memory with", "buffers_that_share_memory"),
    (r"which is expanded: several of its elements", "expanded_buffer"),
    (r"gives something else when it is called again", "state_in_a_global"),
    (r"they keep state outside of", "state_in_a_global"),
    (r"'aten\..*(dropout|bernoulli).* draws random numbers", "dropout_in_training"),
    (r"draws random numbers", "random_numbers"),
    (r"has strides of memory, which", "strided_view_of_view"),
    (r"depends on values and has no maximum, for", "unbounded_size"),
    (r"has no maximum, and memory is planned", "dimension_without_maximum"),
    (r"is no tensor but a Python", "result_of_python"),
    (r"is complex32, of which", "complex_half"),
    (r"a branch of torch\.cond, .* computes with complex numbers", "complex_branches"),
    (r"returns a tensor that is sparse", "sparse_result"),
    (r"the example .* is sparse", "sparse_input"),
    (r"(parameter|buffer|attribute) '.*' is on the device 'meta'", "weights_without_values"),
    (r"the example .* is on the device 'meta'", "weights_without_values"),
    (r"which the AOTInductor engine does not have", "operator_without_kernel"),
    (r"fails on its own examples", "fails_on_its_example"),
)
