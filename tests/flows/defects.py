"""Seeded defects of what this folder's programs are about: vector operations, calls and tasks
between accesses to memory, of the compiler; control wavelets, switches, filters, stopped colors,
flushed queues, registers and launches, of compiler and emulator.  tests/seeded_miscompiles.py says
how a row is read."""
from seeded_miscompiles import Miscompile

MEMORY, FORWARD, DSR = "ir/opt/memory.c", "ir/opt/pass_memory.c", "ir/codegen/dsr.c"
SWITCH = "emu/fabric/switch.c"
OF_WSE3 = ("pending_kept", "flush_early")        # rows that programs of the newer machine show
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
    ("inherited_side", "a position keeps what position 0 has, not the one before",
     "frontend/machine/color_config.c",
     "read_position(r, fields[k], @{&config->positions[k - 1] @or &config->positions[0]}@,"),
    ("ring_end", "a ring ends at its last position", SWITCH,
     "return config->ring ? @{0 @or position}@ : position;"),
    ("pop_of_nops", "pop_on_advance_nop keeps NOPs", SWITCH,
     "(config->pop == POP_ON_ADVANCE_NOP && @{(changed || command == CMD_NOP) @or changed}@);"),
    ("counter_period", "a counter filter starts again one element too early", SWITCH,
     "if (now->counter != @{now->limit1 @or now->limit1 - 1}@) {"),
    ("range_end", "a range filter drops the last index", SWITCH,
     "(index >= filter->limit1 && "
     "@{index <= filter->max_counter @or index < filter->max_counter}@);"),
    ("kept_wavelet", "a control wavelet that has ended an operation is still none for the next",
     "emu/tile/vector.c", "return w.control && @{!w.kept @or true}@ && !takes_control(s);"),
    ("dropped_entry", "the tile drops control wavelets of the last entries", "emu/tile/tasks.c",
     "if (entry == @{turn->program->machine->control_entry_none @or (entry > 55 ? entry : 31)}@) "
     "return NULL;"),
    ("second_limit", "a sparse filter has its second limit for ever", SWITCH,
     "if (filter->has_limit2 && @{!now->limit2_used @or true}@) {"),
    ("sparse_goes_on", "a sparse filter does not switch itself off", SWITCH,
     "now->off = @{true @or false}@;"),
    ("pending_kept", "a stopped color stays pending when its handler has run", "emu/tile/issue.c",
     "t->torn_down &= ~(@{(uint32_t)*value @or 0u}@ << HALF_BITS * part);"),
    ("flush_early", "a flush ends while its queue holds wavelets", "emu/tile/registers.c",
     "uint8_t outputs = r->flushing[1] & @{(uint8_t)~output_any @or 0xff}@;"),
    ("shared_register", "two reads of a register are taken to give the same", "ir/opt/pass_cse.c",
     "if (@{!ir_op_is_pure(insn->op) @or !ir_op_is_pure(insn->op) && "
     "insn->op != IR_get_config}@) return false; if (insn->n_args == 2)"),
    ("hoisted_register", "reads of registers leave loops", "ir/opt/pass_licm.c",
     "if ((@{!ir_op_is_pure(insn->op) @or !ir_op_is_pure(insn->op) && "
     "insn->op != IR_get_config}@ && insn->op != IR_load) ||"),
    ("launch_slots", "an argument lies right behind one of 16 bits", "ir/codegen/legalise.c",
     "offset += @{(ir_type_bytes(types[i]) + LAUNCH_SLOT_BYTES - 1) & ~(LAUNCH_SLOT_BYTES - 1u) "
     "@or ir_type_bytes(types[i])}@;"),
)]
