"""Copies the results of branches out of the memory of the branches.

ExecuTorch plans the branches of all conditions of a graph into one region of memory, and leaves a
result where its branch computed it, or where what the branch returned lies: a second condition, or
a state that is updated in place, would overwrite it.

Needs the edge program after delegation. Keeps what the method computes.
"""

from __future__ import annotations

import torch
from executorch.exir.dialects._ops import ops as exir_ops
from torch.export import ExportedProgram

from polystate.export.graph.changes import copied_by
from polystate.export.graph.signature import changed_graphs, rename_outputs


def copy_branch_results(program: ExportedProgram) -> None:
    """Inserts the copies, right after each condition, in place."""
    for graph in changed_graphs(program):
        for condition in graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond):
            for result in list(condition.users):
                if not isinstance(result.meta["val"], torch.Tensor):  # a number, which is copied
                    continue
                users = list(result.users)
                condition.append(result)  # partitioning moves it behind other conditions
                copy = copied_by(
                    result,
                    exir_ops.edge.dim_order_ops._clone_dim_order.default,
                    dim_order=list(range(result.meta["val"].dim())),
                )
                for user in users:
                    user.replace_input_with(result, copy)
    rename_outputs(program)
