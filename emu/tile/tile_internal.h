/* What the files of emu/tile offer each other alone. */
#ifndef TILE_INTERNAL_H
#define TILE_INTERNAL_H

#include "emu/tile/tile.h"

/* ---- mem.c: memory of one tile --------------------------------------------------------------- */

void mem_free(TileMem *mem);
/* The bytes themselves, if all of them can be read as they are; else NULL. */
const uint8_t *mem_data(const TileMem *mem, uint32_t address, unsigned bytes);
/* All bytes of a memory that exists, what is known of them included, in its present form. */
typedef struct { uint8_t *at; uint32_t bytes; } MemBytes;
MemBytes mem_bytes(const TileMem *mem);
/* Makes it full. */
void mem_widen(TileMem *mem);

/* ---- exec_raise.c: exceptions of floating point ---------------------------------------------- */

/* What the instruction has raised that took `before` to `after`: FP_RAISES_*. */
unsigned scalar_raised(const Insn *insn, Fp16Format fp16, const Registers *before,
                       const Registers *after);
/* The same of the computation of one element. */
unsigned vec_raised(VecOp op, Fp16Format fp16, uint32_t a, uint32_t b, uint32_t s, uint32_t result);

/* ---- exec_vec.c: vector operations ----------------------------------------------------------- */

/* The register, or the pair that begins with it. */
uint32_t vec_register(const Registers *regs, unsigned number, unsigned bytes);
/* vec_element for a running operation, whose sources' widths are known: faddhs takes an f32
 * accumulator or an f16 element as src0. */
uint32_t vec_operate(VecRun *run, Fp16Format fp16, uint32_t a, uint32_t b);
/* How often the operation's next group waits for a bank. */
unsigned vec_bank_waits(const VecRun *run, const Machine *machine);
/* No operand is a queue, and the number of elements is known. */
bool vec_in_memory(const VecRun *run);
/* Moves a memory stream one element on. */
void vec_stream_advance(VecStream *stream);
/* Of its fabric operand, the destination first; NO_COLOR if it has none. */
uint8_t vec_fabric_color(const VecRun *run);
/* The stream of `run` whose queue the running operation `other` uses too, or NULL. */
const VecStream *vec_shared_stream(const VecRun *run, const VecRun *other);
/* The stream of `run` that waits behind a wavelet of another color: no data task takes this wavelet
 * from the head of the queue; NULL: none. `heads`: by input queue, NO_COLOR if empty. */
const VecStream *vec_obstructed_stream(const VecRun *run, const ClassCode *cls, uint64_t blocked,
                                       const uint8_t heads[MAX_QUEUES]);
/* What an engine records then; `last` is the use of the queue before. */
Fault vec_obstructed_fault(const VecRun *run, const VecStream *stream, uint8_t head, QueueUse last,
                           uint64_t cycle, uint32_t tile);
/* Whether descriptors keep something after the operation, which is over (save_address,
 * single_step); writes that back. */
bool vec_keeps(const VecRun *run);
void vec_end(const VecRun *run, DsrState *own, const DsrMap *map);
/* Elements that the next group may have with respect to widths, partly used wavelets and what
 * remains; availability in queues and FIFOs comes on top. */
unsigned vec_group_size(const VecRun *run);
/* Wavelets of a fabric stream that `elements` more elements touch. */
unsigned vec_wavelets(const VecStream *stream, unsigned elements);

/* FIFOs: the state block lies in tile memory (FIFO_STATE_WORDS).  How many elements could be
 * pushed or popped now. */
FaultKind fifo_available(const TileMem *mem, uint16_t state, bool push, unsigned *elements);
/* Pushes or pops one element; *fire is the action that this triggers, or none. */
FaultKind fifo_move(TileMem *mem, uint16_t state, bool push, unsigned bytes, uint32_t *value,
                    Action *fire);
/* Remembers that a push found the FIFO full, or a pop found it empty. */
FaultKind fifo_mark(TileMem *mem, uint16_t state, bool push);
/* A synchronous operation stopped here with `remaining` elements to go: the FIFO's own length, if
 * it has one, becomes that. */
void fifo_keep_length(TileMem *mem, uint16_t state, bool push, uint32_t remaining);

/* ---- check.c: the tests of --check ----------------------------------------------------------- */

/* An operation that is disturbed by the access, or NULL. */
const VecRun *check_race(const Checked *checked, const MemoryAccess *access);
/* Adds an operation if it was started before `later` (NULL: before anything at hand). */
void check_add(Checked *checked, const VecRun *run, const VecRun *later);
/* Do the operations meet in memory, by all elements that each of them still has? */
bool check_meets(const Checked *earlier, const VecRun *run);

/* ---- order.c: --check=order ------------------------------------------------------------------ */

/* An operation in the background whose end the program may not know of. */
typedef struct {
  VecRun run;                   /* as it was at its start */
  uint64_t ended;               /* in that cycle; NEVER: it runs */
  uint64_t wakes;               /* local tasks that will know of its end, a bit each */
} Background;
enum { MOST_BACKGROUND = 16 };
typedef struct TileOrder {
  uint64_t sent;                /* an operation that sends has ended in that cycle, the last one */
  uint32_t n;
  Background of[MOST_BACKGROUND];       /* oldest first; without those whose end is known */
} TileOrder;
/* A task starts, or with TASK_NONE a function that the host calls. */
void order_start_main(Turn *turn, TaskKind kind, unsigned id);
/* A FIFO, a teardown or a flush activates or unblocks the local task. */
void order_wake(Turn *turn, unsigned id);
/* An operation starts; finds what it touches too early. */
void order_start(Turn *turn, const VecRun *run);
/* It ends, with that action. */
void order_end(Turn *turn, const VecRun *run, Action action);
/* An operation whose memory the access touches too early, or NULL. */
const VecRun *order_disturbed(const Tile *tile, const MemoryAccess *access);
void order_free(Tile *tile);

/* ---- registers.c: registers of a tile -------------------------------------------------------- */

/* As a program starts with them. */
TileRegisters registers_initial(const StartRegisters *start);
/* False: the register is none of these.  `part` counts words from the row's first. */
bool registers_read(const TileRegisters *registers, const ImageClass *image,
                    const ConfigRegInfo *reg, unsigned part, uint16_t *value);
bool registers_write(TileRegisters *registers, const ImageClass *image, const ConfigRegInfo *reg,
                     unsigned part, uint16_t value);
/* FP_RAISES_* that the exception mask lets through. */
uint8_t registers_traps(const TileRegisters *registers);
/* Has the program bound the output queue to another color itself? */
bool registers_sends_rebound(const TileRegisters *registers, unsigned queue);
/* wse3: an operation that names another color than its queue is bound to binds the queue to it.
 * The stream whose queue cannot change because it holds wavelets, or NULL; bits as in
 * registers_flush_empty. */
const VecStream *registers_remap(TileRegisters *registers, const ImageClass *image,
                                 const VecRun *run, uint8_t input_any, uint8_t output_any);
/* A word of QUEUE_STATUS from the queues' counts. */
uint16_t registers_queue_status(const uint8_t counts[MAX_QUEUES], const uint16_t *depths,
                                unsigned queues);
/* MICROTHREAD: the priority of the operation that runs there; NULL: none does. */
uint16_t registers_thread_word(const VecRun *run);
void registers_set_thread(VecRun *run, uint16_t word);
/* `qflush`, and what follows: true once if a flushed queue holds nothing any more; bits of
 * `input_any` and `output_any` are set for queues that hold wavelets. */
void registers_flush(TileRegisters *registers, bool output, unsigned queue);
bool registers_flush_empty(TileRegisters *registers, uint8_t input_any, uint8_t output_any);

/* ---- record.c: what reports say of a tile's past --------------------------------------------- */

/* `pc`: of the instruction that activates, or whose operation does; PC_RETURN none.  `merges`: the
 * task waits to be started already. */
void record_activation(TileRecord *record, unsigned id, uint16_t pc, bool merges);
/* The FIFOs that an operation takes from and fills, at its start. */
void record_fifos(TileRecord *record, const VecRun *run);
/* A FIFO has ended the operation. */
void record_fifo_end(TileRecord *record, const VecRun *run, bool may_be_asked);
/* The tile has no task that takes the wavelet. */
void record_untaken(TileRecord *record, uint64_t cycle, unsigned queue, unsigned color,
                    uint32_t payload);

/* ---- known.c: operations that begin as before ------------------------------------------------ */

/* Where an operation of the instruction with these descriptors is kept. */
unsigned known_place(const Insn *insn, Dsrs dsrs);
/* The operation has begun without a fault: keeps it, if it can begin in the same way again. */
void known_keep(KnownRun *known, const VecRun *run, const Insn *insn, const Tile *tile);
/* The instruction begins as it has begun then.  False: it may not. */
bool known_begins(KnownRun *known, VecRun *run, const Insn *insn, const Tile *tile);

/* ---- turn.c, tasks.c, vector.c: a tile's turn ------------------------------------------------ */

/* The tile's counters, to be changed. */
Counters *tile_counters(Tile *tile);
/* A fault of the tile at an instruction; cycle and tile are filled in. */
void turn_tile_fault(Turn *turn, uint16_t pc, FaultKind kind, uint32_t value);
/* In that cycle, if the action activates or unblocks something. */
void tile_action_later(Turn *turn, uint64_t cycle, Action action, uint16_t pc, bool by_fifo);
/* A write to a MICROTHREAD register, which has its effect when timing says so. */
void tile_priority_later(Turn *turn, uint16_t address, uint16_t value);
/* Blocks or unblocks a task, a queue or a microthread. */
void tile_set_blocked(Turn *turn, IdKind kind, unsigned id, bool blocked);
/* `pc`: of the instruction whose doing it is; `is_state`: of a FIFO or a flush, whose state a task
 * that has not started yet will see, so that no activation is lost. */
void tile_activate(Turn *turn, unsigned id, uint16_t pc, bool is_state);
/* Queues of the direction that hold wavelets, a bit each. */
uint8_t tile_queues_filled(const Turn *turn, bool output);
/* While a queue is being flushed tile_begin looks at it in each cycle. */
void tile_watch_flush(Tile *tile);
/* Takes the wavelet at the head of the input queue. */
QueueHead tile_take_input(Turn *turn, unsigned queue);
/* A running operation of the tile takes the wavelet at the head of the input queue. */
bool vector_takes(const Tile *tile, unsigned queue, QueueHead head);
/* Remembers at each FIFO that holds the operation up that it did. */
void vector_mark_fifos(Turn *turn, const VecRun *run);
/* What was started before the running operation `later`, or before now. */
Checked vector_running_before(Turn *turn, const VecRun *later);

#endif
