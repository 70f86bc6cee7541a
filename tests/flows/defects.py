"""Seeded miscompiles of what this folder's programs are about: vector operations, calls and tasks
between accesses to memory.  tests/seeded_miscompiles.py says how a row is read."""
from seeded_miscompiles import Miscompile

MEMORY, FORWARD, DSR = "ir/opt/memory.c", "ir/opt/pass_memory.c", "ir/codegen/dsr.c"
ROWS = [Miscompile(*row) for row in (
    ("vector_writes", "vector operations are taken to write nothing", MEMORY,
     "default: return @{ir_op_is(insn->op, IRE_WRITES | IRE_STALLS) && is_exposed(to, exposed) "
     "@or false}@;"),
    ("call_writes", "calls are taken to write nothing", MEMORY,
     "case IR_call_ptr: return @{to.base != BASE_ALLOCA || is_exposed(to, exposed) @or false}@;"),
    ("descriptor_exposes", "operations do not reach the array of a constant descriptor", MEMORY,
     "s->globals[insn->u.desc->global.raw] = @{true @or false}@; return;"),
    ("licm_vector", "loads leave loops whose vector operations write what they read",
     "ir/opt/pass_licm.c",
     "if (@{opt_writes_memory(opt_insn(h->f, b->insns[k])) @or "
     "opt_insn(h->f, b->insns[k])->op != IR_vec && "
     "opt_writes_memory(opt_insn(h->f, b->insns[k]))}@)"),
    ("pending_call", "a store to a global that a call reads is lost if another one follows",
     FORWARD,
     "return @{!(at.base == BASE_GLOBAL && only_fabric && !w->exposed.globals[at.object]) @or "
     "at.base != BASE_GLOBAL}@;"),
    ("held_join", "a descriptor stays in its DSR where ways meet", DSR,
     "if (mi->starts_block) forget_held(x, @{false @or true}@);"),
    ("held_call", "a descriptor stays in its DSR over a call", DSR,
     "if (@{mi->op == OP_call || mi->op == OP_callr @or false}@) forget_held(x, false);"),
    ("held_written", "a descriptor stays in its DSR when its variable changes", DSR,
     "if (@{mi->writes_dsd @or false}@) forget_written(x, mi);"),
)]
