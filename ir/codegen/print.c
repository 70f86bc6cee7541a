/* Listings of a finished class: the memory map, and the assembly text. */
#include "ir/ir.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the map -------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
  const ImageSymbol *x = *(const ImageSymbol *const *)a, *y = *(const ImageSymbol *const *)b;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return strcmp(x->name, y->name);
}

static const ImageSymbol **sorted_symbols(const ImageClass *c)
{
  const ImageSymbol **list = base_malloc(sizeof *list * (c->n_symbols + 1));
  for (uint32_t i = 0; i < c->n_symbols; i++)
    list[i] = &c->symbols[i];
  qsort(list, c->n_symbols, sizeof *list, by_address);
  return list;
}

static void print_section(FILE *out, const char *name, uint32_t address, uint32_t bytes)
{
  fprintf(out, "%-8s 0x%04" PRIx32 " %6" PRIu32 " bytes\n", name, address, bytes);
}

void codegen_print_map(const CodegenResult *result, FILE *out)
{
  const ImageClass *c = &result->image;
  uint32_t code = 2 * c->code_words;
  uint32_t memory = c->stack_top, used = c->static_bytes + c->stack_bytes;
  if (c->code_address >= c->static_bytes)
    used += code;
  fprintf(out, "class %s\n", c->source ? c->source : "");
  print_section(out, "data", 0, c->static_bytes);
  print_section(out, "code", c->code_address, code);
  print_section(out, "stack", c->stack_top - c->stack_bytes, c->stack_bytes);
  fprintf(out, "free            %6" PRIu32 " bytes of %" PRIu32 "\n\n",
          memory > used ? memory - used : 0, memory);
  const ImageSymbol **list = sorted_symbols(c);
  for (uint32_t i = 0; i < c->n_symbols; i++)
    fprintf(out, "0x%04x %6" PRIu32 " %s %s%s%s\n", list[i]->address, list[i]->bytes,
            list[i]->is_code ? "code" : "data", list[i]->name, *list[i]->type ? ": " : "",
            list[i]->type);
  free(list);
}

/* ---- assembly text -------------------------------------------------------------------------- */

typedef struct {
  const CodegenResult *result;
  const ImageClass *c;
  FILE *out;
  uint32_t *label;         /* by code word: label number + 1 */
  const ImageSymbol **symbol;   /* by code word: function that starts there */
  uint32_t line, name;     /* next rows of the tables */
} AsmPrinter;

static bool in_code(const ImageClass *c, uint32_t address)
{
  return address >= c->code_address && address < c->code_address + 2 * c->code_words &&
         address % 2 == 0;
}

static void find_labels(AsmPrinter *p)
{
  const ImageClass *c = p->c;
  for (uint32_t i = 0; i < c->n_symbols; i++)
    if (c->symbols[i].is_code && in_code(c, c->symbols[i].address) && c->symbols[i].bytes)
      p->symbol[(c->symbols[i].address - c->code_address) / 2] = &c->symbols[i];
  for (uint32_t at = 0; at < c->code_words;) {
    Insn insn;
    const char *reason;
    uint32_t target;
    unsigned n = insn_decode(c->code + at, c->code_words - at, &insn, &reason);
    if (n == 0)
      ICE("generated code cannot be decoded: %s", reason);
    if (insn_target(&insn, &target) && in_code(c, target))
      p->label[(target - c->code_address) / 2] = 1;
    at += n;
  }
  uint32_t number = 0;
  for (uint32_t at = 0; at < c->code_words; at++) {
    if (p->symbol[at])
      number = 0;
    if (p->label[at] && !p->symbol[at])
      p->label[at] = ++number;
  }
}

static const char *file_name(const AsmPrinter *p, uint32_t file)
{
  return p->result->sources ? source_path(p->result->sources, (FileId){file + 1}) : "?";
}

static void print_line_row(const AsmPrinter *p, const ImageLine *row)
{
  if (row->line == 0)
    return;
  fprintf(p->out, "  ; %s:%" PRIu32 ":%" PRIu32, file_name(p, row->file), row->line, row->column);
  for (uint32_t i = row->inlined_at; i != IMAGE_NO_INLINE; i = p->c->inlines[i].parent)
    fprintf(p->out, " in %s, inlined at %s:%" PRIu32, p->c->inlines[i].function,
            file_name(p, p->c->inlines[i].file), p->c->inlines[i].line);
  fputc('\n', p->out);
}

static void print_address_comment(const AsmPrinter *p, const Insn *insn)
{
  uint32_t target;
  if (!insn_target(insn, &target) || !in_code(p->c, target))
    return;
  uint32_t word = (target - p->c->code_address) / 2;
  if (p->symbol[word])
    fprintf(p->out, "  ; %s", p->symbol[word]->name);
  else
    fprintf(p->out, "  ; .L%" PRIu32, p->label[word]);
}

static void print_insn(AsmPrinter *p, uint32_t at, const Insn *insn)
{
  char text[160];
  uint32_t pc = p->c->code_address + 2 * at;
  if (p->symbol[at])
    fprintf(p->out, "\n%s:\n", p->symbol[at]->name);
  else if (p->label[at])
    fprintf(p->out, ".L%" PRIu32 ":\n", p->label[at]);
  while (p->line < p->c->n_lines && p->c->lines[p->line].pc <= pc)
    print_line_row(p, &p->c->lines[p->line++]);
  insn_print(insn, text, sizeof text);
  fprintf(p->out, "  %04" PRIx32 "  %s", pc, text);
  print_address_comment(p, insn);
  if (p->name < p->c->n_vec_names && p->c->vec_names[p->name].pc == pc) {
    const ImageVecNames *names = &p->c->vec_names[p->name++];
    fprintf(p->out, "  ; dest %s, src0 %s, src1 %s", *names->dest ? names->dest : "-",
            *names->src0 ? names->src0 : "-", *names->src1 ? names->src1 : "-");
  }
  fputc('\n', p->out);
}

enum { DATA_ROW_BYTES = 16 };

static void print_data(const AsmPrinter *p)
{
  fprintf(p->out, "\n.data\n");
  for (uint32_t i = 0; i < p->c->n_segments; i++) {
    const ImageSegment *s = &p->c->segments[i];
    for (uint32_t at = 0; at < s->bytes; at += DATA_ROW_BYTES) {
      fprintf(p->out, "  %04" PRIx32 " ", s->address + at);
      for (uint32_t k = at; k < s->bytes && k < at + DATA_ROW_BYTES; k++)
        fprintf(p->out, " %02x", s->data[k]);
      fputc('\n', p->out);
    }
  }
}

void codegen_print_asm(const CodegenResult *result, FILE *out)
{
  const ImageClass *c = &result->image;
  Arena *arena = arena_create("assembly text");
  AsmPrinter p = {.result = result, .c = c, .out = out};
  p.label = arena_many(arena, uint32_t, c->code_words + 1);
  p.symbol = arena_many(arena, const ImageSymbol *, c->code_words + 1);
  find_labels(&p);
  fprintf(out, "; code 0x%04x, %" PRIu32 " bytes; data %u bytes; stack %u bytes\n", c->code_address,
          2 * c->code_words, c->static_bytes, c->stack_bytes);
  for (uint32_t at = 0; at < c->code_words;) {
    Insn insn;
    const char *reason;
    unsigned n = insn_decode(c->code + at, c->code_words - at, &insn, &reason);
    print_insn(&p, at, &insn);
    at += n;
  }
  print_data(&p);
  arena_destroy(arena);
}
