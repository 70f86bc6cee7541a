/* The digest of a module: two modules with one digest have the same text, places in the source and
 * variables for debuggers, so that the same code is made of them.
 *
 * It stands for the module alone, since a layout may make thousands of them: what it is compared
 * with is gone.  So it is SipHash-1-3 with a result of 128 bits, of a constant key: unlike simpler
 * hashes it has no structure that programs could meet by accident.  The hash takes words of 64
 * bits; every list and text begins with its length. */
#include "ir/ir.h"

#include <string.h>

/* ---- the hash -------------------------------------------------------------------------------- */

typedef struct { uint64_t v0, v1, v2, v3; } Hash;

static uint64_t turn_left(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

static void mix_rounds(Hash *h, unsigned rounds)
{
  for (unsigned i = 0; i < rounds; i++) {
    h->v0 += h->v1;
    h->v2 += h->v3;
    h->v1 = turn_left(h->v1, 13) ^ h->v0;
    h->v3 = turn_left(h->v3, 16) ^ h->v2;
    h->v0 = turn_left(h->v0, 32);
    h->v2 += h->v1;
    h->v0 += h->v3;
    h->v1 = turn_left(h->v1, 17) ^ h->v2;
    h->v3 = turn_left(h->v3, 21) ^ h->v0;
    h->v2 = turn_left(h->v2, 32);
  }
}

enum { ROUNDS = 1, LAST_ROUNDS = 3, WIDE_RESULT = 0xee, FIRST_END = 0xee, SECOND_END = 0xdd };

static void hash_begin(Hash *h)
{
  *h = (Hash){0x736f6d6570736575, 0x646f72616e646f6d ^ WIDE_RESULT, 0x6c7967656e657261,
              0x7465646279746573};
}

static void add_word(Hash *h, uint64_t word)
{
  h->v3 ^= word;
  mix_rounds(h, ROUNDS);
  h->v0 ^= word;
}

static IrDigest hash_end(Hash *h)
{
  IrDigest digest;
  h->v2 ^= FIRST_END;
  mix_rounds(h, LAST_ROUNDS);
  digest.low = h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
  h->v1 ^= SECOND_END;
  mix_rounds(h, LAST_ROUNDS);
  digest.high = h->v0 ^ h->v1 ^ h->v2 ^ h->v3;
  return digest;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void add_two(Hash *h, uint32_t a, uint32_t b)
{
  add_word(h, a | (uint64_t)b << 32);
}

static void add_bytes(Hash *h, const void *bytes, size_t n)
{
  add_word(h, n);
  for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, (const char *)bytes + i, n - i < sizeof word ? n - i : sizeof word);
    add_word(h, word);
  }
}

/* No text is not an empty one. */
static void add_text(Hash *h, const char *text)
{
  if (text)
    add_bytes(h, text, strlen(text));
  else
    add_word(h, UINT64_MAX);
}

static void add_span(Hash *h, Span span) { add_two(h, span.off, span.len); }

/* `before`: stands with the count. */
static void add_values(Hash *h, uint32_t before, const IrValue *values, uint32_t n)
{
  add_two(h, before, n);
  for (uint32_t i = 0; i < n; i += 2)
    add_two(h, values[i].raw, i + 1 < n ? values[i + 1].raw : 0);
}

static uint64_t action_bits(Action a)
{
  return a.kind | (uint64_t)a.id_kind << 8 | (uint64_t)a.id << 16;
}

static void add_desc(Hash *h, const IrDesc *desc)
{
  const Descriptor *d = &desc->desc;
  add_two(h, desc->global.raw, d->kind);
  add_word(h, d->flags | (uint64_t)d->base << 16 | (uint64_t)d->length << 32 |
           (uint64_t)(uint16_t)d->stride << 48);
  for (unsigned i = 0; i < ARRAY_COUNT(d->lengths); i++)
    add_two(h, d->lengths[i], (uint16_t)d->strides[i]);
  add_word(h, d->wrap_base | (uint64_t)d->wrap_length << 16 | (uint64_t)d->queue << 32 |
           (uint64_t)d->color << 40 | (uint64_t)d->ut << 48 | (uint64_t)d->ut_given << 56);
  add_two(h, (uint32_t)action_bits(d->done), (uint32_t)action_bits(d->on_control));
  add_word(h, d->priority | (uint64_t)d->priority_given << 8 | (uint64_t)d->simd << 16);
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void add_operand(Hash *h, const IrVecOperand *o)
{
  add_word(h, o->kind | (uint64_t)o->file << 8 | (uint64_t)o->is_memory << 16 |
           (uint64_t)o->number << 32);
  add_word(h, o->arg);
  add_text(h, o->name);
}

static void add_vec(Hash *h, const IrVec *vec)
{
  add_two(h, vec->op, vec->priority);
  add_operand(h, &vec->dest);
  add_operand(h, &vec->src0);
  add_operand(h, &vec->src1);
  add_two(h, vec->scalar, vec->index);
}

static void add_insn(Hash *h, const IrInsn *insn)
{
  add_word(h, insn->op | (uint64_t)insn->type << 8 | (uint64_t)insn->field << 16 |
           (uint64_t)insn->dead << 24 | (uint64_t)insn->loc.raw << 32);
  add_word(h, insn->imm);
  add_values(h, insn->aux, insn->args, insn->n_args);
  switch ((int)insn->op) {
  case IR_global_addr: add_word(h, insn->u.global.raw); break;
  case IR_func_addr: case IR_call: add_word(h, insn->u.func.raw); break;
  case IR_dsd_const: add_desc(h, insn->u.desc); break;
  case IR_vec: add_vec(h, insn->u.vec); break;
  case IR_PARAM: add_two(h, insn->u.param.block.raw, insn->u.param.index); break;
  default: break;
  }
  for (uint32_t i = 0; i < ir_target_count(insn); i++) {
    const IrTarget *target = &insn->u.targets[i];
    add_values(h, target->block.raw, target->args, target->n_args);
  }
}

/* ---- functions ------------------------------------------------------------------------------- */

static void add_local(Hash *h, const IrLocal *l)
{
  add_text(h, l->name);
  add_two(h, l->type, l->loc.raw);
  add_word(h, l->is_param | (uint64_t)l->in_memory << 8 | (uint64_t)l->is_known << 16 |
           (uint64_t)l->is_asserted << 24 |
           (uint64_t)l->value.raw << 32);
  add_word(h, l->turn);
  add_word(h, l->bits);
}

static void add_func(Hash *h, const IrFunc *f)
{
  add_text(h, f->name);
  add_word(h, f->n_params);
  for (uint32_t i = 0; i < f->n_params; i++)
    add_word(h, f->params[i]);
  add_word(h, f->result | (uint64_t)f->is_task << 8 | (uint64_t)f->inlining << 16 |
           (uint64_t)f->address_taken << 24 | (uint64_t)f->loc.raw << 32);
  add_word(h, f->n_insns);
  for (uint32_t i = 1; i < f->n_insns; i++)
    add_insn(h, &f->insns[i]);
  add_two(h, f->n_blocks, f->n_allocas);
  for (uint32_t i = 0; i < f->n_blocks; i++) {
    add_values(h, i, f->blocks[i].params, f->blocks[i].n_params);
    add_values(h, i, f->blocks[i].insns, f->blocks[i].n_insns);
  }
  add_word(h, f->n_locals);
  for (uint32_t i = 0; i < f->n_locals; i++)
    add_local(h, &f->locals[i]);
  add_bytes(h, f->held, f->n_held * sizeof *f->held);
}

/* ---- module ---------------------------------------------------------------------------------- */

static void add_global(Hash *h, const IrGlobal *g)
{
  add_text(h, g->name);
  add_text(h, g->type);
  add_two(h, g->debug_type, g->bytes);
  add_bytes(h, g->init, g->init ? g->bytes : 0);
  add_word(h, g->n_relocs);
  for (uint32_t i = 0; i < g->n_relocs; i++) {
    add_two(h, g->relocs[i].offset, g->relocs[i].is_func);
    add_two(h, g->relocs[i].target, (uint32_t)g->relocs[i].addend);
  }
  add_two(h, g->align, g->loc.raw);
  add_word(h, g->is_const | (uint64_t)g->unset << 8 | (uint64_t)g->keep << 16 |
           (uint64_t)g->has_address << 24 | (uint64_t)g->address << 32 |
           (uint64_t)g->extent << 48);
}

static void add_tile_slots(Hash *h, const IrModule *m)
{
  add_two(h, m->n_tile_slots, m->n_tile_params);
  for (uint32_t i = 0; i < m->n_tile_slots; i++) {
    const IrTileSlot *slot = &m->tile_slots[i];
    add_two(h, slot->is_param, slot->index);
    add_two(h, slot->offset, slot->bytes);
    add_word(h, slot->type);
  }
  for (uint32_t i = 0; i < m->n_tile_params; i++)
    add_word(h, m->tile_params[i]);
}

static void add_lists(Hash *h, const IrModule *m)
{
  add_word(h, m->n_tasks);
  for (uint32_t i = 0; i < m->n_tasks; i++) {
    const IrTask *t = &m->tasks[i];
    add_two(h, t->func.raw, t->kind | (uint32_t)t->id << 8 | (uint32_t)t->arguments << 16);
    add_text(h, t->name);
  }
  add_word(h, m->n_dsrs);
  for (uint32_t i = 0; i < m->n_dsrs; i++) {
    add_two(h, m->dsrs[i].file, m->dsrs[i].number);
    add_desc(h, &m->dsrs[i].desc);
    add_span(h, m->dsrs[i].span);
  }
  add_word(h, m->n_configs);
  for (uint32_t i = 0; i < m->n_configs; i++)
    add_two(h, m->configs[i].address, m->configs[i].value);
  add_word(h, m->n_bindings);
  for (uint32_t i = 0; i < m->n_bindings; i++) {
    const IrBinding *b = &m->bindings[i];
    add_two(h, b->export_index, b->target);
    add_word(h, b->is_func | (uint64_t)b->is_pointer << 8 | (uint64_t)b->extent << 16);
  }
}

static void add_queue(Hash *h, const ImageQueue *q)
{
  add_word(h, q->used | (uint64_t)q->color << 8 | (uint64_t)q->priority << 16 |
           (uint64_t)q->implicit << 24);
}

static void add_machine(Hash *h, const IrModule *m)
{
  add_word(h, m->active);
  add_word(h, m->blocked);
  add_two(h, m->paused, m->separate_control);
  for (unsigned q = 0; q < MAX_QUEUES; q++) {
    add_queue(h, &m->input[q]);
    add_queue(h, &m->output[q]);
    add_two(h, m->empty_handler[0][q], m->empty_handler[1][q]);
    add_text(h, m->queue_names[0][q]);
    add_text(h, m->queue_names[1][q]);
  }
  for (unsigned c = 0; c < MAX_COLORS; c++) {
    add_two(h, m->teardown_handler[c], m->data_queue[c]);
    add_text(h, m->color_names[c]);
  }
}

IrDigest ir_digest(const IrModule *m)
{
  Hash h;
  hash_begin(&h);
  add_two(&h, m->arch, m->fp16);
  add_text(&h, m->source);
  add_word(&h, m->n_funcs);
  for (uint32_t i = 0; i < m->n_funcs; i++)
    add_func(&h, &m->funcs[i]);
  add_word(&h, m->n_globals);
  for (uint32_t i = 0; i < m->n_globals; i++)
    add_global(&h, &m->globals[i]);
  add_word(&h, m->n_locs);
  for (uint32_t i = 1; i < m->n_locs; i++) {
    add_span(&h, m->locs[i].span);
    add_word(&h, m->locs[i].inlined_at.raw);
    add_text(&h, m->locs[i].function);
  }
  add_tile_slots(&h, m);
  add_lists(&h, m);
  add_machine(&h, m);
  return hash_end(&h);
}
