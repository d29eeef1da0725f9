"""Which rules there are for a problem, by the name of its page in the example database."""

from __future__ import annotations

from collections.abc import Callable

from polystate.export.rewriting.drafts import Draft
from polystate.export.rewriting.rules.attributes import as_buffer, parameter_as_buffer
from polystate.export.rewriting.rules.buffers import return_copies, set_to_copies, write_into
from polystate.export.rewriting.rules.caller import give_maximum, in_eval_mode
from polystate.export.rewriting.rules.containers import dictionary_as_buffers, list_as_buffer
from polystate.export.rewriting.rules.numbers import limit_size, say_range
from polystate.export.rewriting.rules.numpy_calls import write_with_torch
from polystate.export.rewriting.rules.paths import bound_loop, check_inside, choose_by_where
from polystate.export.rewriting.spots import Problem

# Changes the draft, and says in a sentence how; CannotRewriteError where it does not fit.
Rule = Callable[[Draft, Problem], str]

RULES: dict[str, tuple[Rule, ...]] = {
    "assert_on_values": (check_inside,),
    "attribute_that_changes": (as_buffer,),
    "branch_on_values": (choose_by_where,),
    "buffer_data": (write_into,),
    "buffers_that_exchange_names": (set_to_copies,),
    "cond_result_is_operand": (return_copies,),
    "cond_results_differ": (return_copies,),
    "dictionary_that_changes": (dictionary_as_buffers,),
    "dimension_without_maximum": (give_maximum,),
    "dropout_in_training": (in_eval_mode,),
    "list_that_grows": (list_as_buffer,),
    "loop_count_of_tensor": (bound_loop,),
    "loop_on_values": (bound_loop,),
    "number_of_tensor": (say_range,),
    "numpy_inside": (write_with_torch,),
    "parameter_that_changes": (parameter_as_buffer,),
    "raise_on_values": (check_inside,),
    "unbounded_size": (limit_size,),
}
