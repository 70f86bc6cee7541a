/* wse-docgen: keeps the tables of docs/isa.md, docs/image.md and docs/cycle-model.md equal to the
 * tables of the code.
 *
 *   wse-docgen FILE...            prints FILE with its generated parts renewed
 *   wse-docgen --update FILE...   writes that back
 *
 * A generated part stands between the lines
 *   <!-- generated: NAME -->
 *   <!-- end -->
 */
#include "emu/engine/engine.h"
#include "ir/machine/image_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ------------------------------------------------------------------------------- */

/* A bar would end the cell of a Markdown table. */
static void put_cell(FILE *out, const char *text)
{
  for (; *text; text++)
    fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

static void put_code_cell(FILE *out, const char *text)
{
  if (*text == 0)
    return;
  fputc('`', out);
  put_cell(out, text);
  fputc('`', out);
}

/* ---- parts ------------------------------------------------------------------------------- */

static void put_formats(FILE *out)
{
  fprintf(out, "| format | words | instructions |\n| --- | --- | --- |\n");
  for (unsigned format = 0; format < FMT_COUNT; format++) {
    const char *separator = "";
    unsigned words = 0;
    fprintf(out, "| %s | ", insn_format_name((InsnFormat)format));
    for (unsigned op = 0; op < OP_COUNT; op++)
      if (insn_info[op].format == (InsnFormat)format)
        words = insn_words((Opcode)op);
    fprintf(out, "%u | ", words);
    for (unsigned op = 0; op < OP_COUNT; op++) {
      if (insn_info[op].format != (InsnFormat)format)
        continue;
      fprintf(out, "%s`%s`", separator, insn_info[op].name);
      separator = " ";
    }
    fprintf(out, " |\n");
  }
}

/* An example of each instruction for the disassembler, which shows only what the format has. */
static Insn example_of(Opcode op)
{
  Insn insn = {.op = op, .a = 2, .b = 4, .c = 8, .imm = 16, .target = 0x120};
  switch (insn_info[op].format) {
  case FMT_VEC:
    return (Insn){.op = op, .vec = {.op = VEC_fmacs, .dest = {VOPND_DSR, DSR_DEST, 1},
                                    .src0 = {VOPND_DSR, DSR_SRC0, 1},
                                    .src1 = {VOPND_DSR, DSR_SRC1, 1}, .has_scalar = true,
                                    .scalar = 4}};
  case FMT_DSRLD: insn.file = DSR_SRC1; insn.c = 0; break;
  case FMT_DSRSET: case FMT_DSRGET: insn.field = DSRF_LENGTH; insn.imm = 0; break;
  case FMT_J: case FMT_RJ: case FMT_RRJ: insn.imm = 0x120; break;
  case FMT_RI: case FMT_I:
    if (op == OP_blk || op == OP_unblk || op == OP_qflush)
      insn.imm = 1;
    if (op == OP_blki || op == OP_unblki)
      insn.a = ID_INPUT_QUEUE, insn.imm = 3;
    if (op == OP_ldcfgi || op == OP_stcfgi)
      insn.imm = CFG_TSC_CONTROL;
    break;
  case FMT_NONE: case FMT_R: case FMT_RR: case FMT_RRR: case FMT_RRI: case FMT_RI32: case FMT_LD:
  case FMT_LDA: case FMT_ST: case FMT_STA: case FMT_RIJ: case FMT_CTR: case FMT_CTRA:
  case FMT_COUNT: default:
    break;
  }
  return insn;
}

static void put_instructions(FILE *out)
{
  fprintf(out, "| opcode | name | format | cost class | semantics | example |\n"
               "| --- | --- | --- | --- | --- | --- |\n");
  for (unsigned op = 0; op < OP_COUNT; op++) {
    char text[80];
    Insn insn = example_of((Opcode)op);
    insn_print(&insn, text, sizeof text);
    fprintf(out, "| 0x%02x | `%s` | %s | %s | ", op, insn_info[op].name,
            insn_format_name(insn_info[op].format), cost_class_name(insn_info[op].cost));
    put_code_cell(out, insn_info[op].semantics);
    fprintf(out, " | ");
    put_code_cell(out, text);
    fprintf(out, " |\n");
  }
}

static const char *element_name(VecElem element)
{
  static const char *const names[] = {"16-bit integer", "16 bits", "16-bit float", "f32",
                                      "32 bits"};
  return names[element];
}

static void put_vecops(FILE *out)
{
  fprintf(out, "| number | name | destination | sources | source elements | scalar |\n"
               "| --- | --- | --- | --- | --- | --- |\n");
  for (unsigned i = 0; i < VEC_COUNT; i++)
    fprintf(out, "| %u | `%s` | %s | %u | %s | %s |\n", i, vecops[i].name,
            element_name(vecops[i].dst), vecops[i].sources, element_name(vecops[i].src),
            vecops[i].scalar ? "yes" : "");
}

static void put_dsr_fields(FILE *out)
{
  fprintf(out, "| number | field |\n| --- | --- |\n");
  for (unsigned i = 0; i < DSRF_COUNT; i++)
    fprintf(out, "| %u | `%s` |\n", i, dsr_field_name((DsrField)i));
}

static void put_config_regs(FILE *out)
{
  static const char *const access[] = {"", "read", "write", "read, write"};
  fprintf(out, "| address | words | name | access | source |\n| --- | --- | --- | --- | --- |\n");
  for (size_t i = 0; i < config_reg_count; i++) {
    const ConfigRegInfo *reg = &config_regs[i];
    fprintf(out, "| 0x%04x | %u | `%s` | %s | %s |\n", reg->address, reg->count, reg->name,
            access[reg->access & (CONFIG_READ | CONFIG_WRITE)], reg->source);
  }
}

static void put_descriptor_kinds(FILE *out)
{
  fprintf(out, "| number | kind | words |\n| --- | --- | --- |\n");
  for (unsigned i = DESC_MEM1D; i < DESC_KIND_COUNT; i++)
    fprintf(out, "| %u | `%s` | %u |\n", i, descriptor_kind_name((DescKind)i),
            descriptor_words((DescKind)i));
}

static void put_list(FILE *out, const uint16_t *values, size_t count)
{
  for (size_t i = 0; i < count; i++)
    fprintf(out, "%s%u", i ? ", " : "", values[i]);
}

static void put_machine(FILE *out)
{
  const Machine *a = machine_get(ARCH_WSE2), *b = machine_get(ARCH_WSE3);
  fprintf(out, "| row | wse2 | wse3 | source |\n| --- | --- | --- | --- |\n");
#define MACHINE(field, wse2, wse3, source)                                  \
  fprintf(out, "| `" #field "` | %u | %u | ", (unsigned)a->field, (unsigned)b->field); \
  put_cell(out, source);                                                    \
  fprintf(out, " |\n");
#define MACHINE_LIST(field, count, wse2, wse3, source) \
  fprintf(out, "| `" #field "` | ");                   \
  put_list(out, a->field, count);                      \
  fprintf(out, " | ");                                 \
  put_list(out, b->field, count);                      \
  fprintf(out, " | ");                                 \
  put_cell(out, source);                               \
  fprintf(out, " |\n");
#define MACHINE_MASK(field, wse2, wse3, source)                                             \
  fprintf(out, "| `" #field "` | 0x%" PRIx64 " | 0x%" PRIx64 " | ", a->field, b->field); \
  put_cell(out, source);                                                                    \
  fprintf(out, " |\n");
#include "ir/machine/machine.def"
}

static void put_header(FILE *out)
{
  fprintf(out,
          "| byte | bytes | field |\n| --- | --- | --- |\n"
          "| 0 | %d | mark: the text `WSEPROG` and a newline |\n"
          "| %d | 4 | version of the format: %d |\n"
          "| %d | 4 | number of sections: %d |\n"
          "| %d | 8 | hash of the tables |\n"
          "| %d | 8 | length of the file in bytes |\n"
          "| %d | 4 | CRC-32 of the header and section table, this field taken as zero |\n"
          "| %d | 4 | zero |\n"
          "| %d | %d each | section table |\n",
          IMAGE_MAGIC_BYTES, IMAGE_AT_VERSION, IMAGE_VERSION, IMAGE_AT_COUNT, SECTION_COUNT,
          IMAGE_AT_HASH, IMAGE_AT_LENGTH, IMAGE_AT_CRC, IMAGE_AT_ZERO, IMAGE_AT_TABLE,
          IMAGE_ENTRY_BYTES);
}

static void put_sections(FILE *out)
{
  fprintf(out, "| kind | name | holds |\n| --- | --- | --- |\n");
#define SECTION(id, name, what) fprintf(out, "| %d | %s | %s |\n", SECTION_##id, name, what);
  IMAGE_SECTIONS(SECTION)
#undef SECTION
}

/* ---- time -------------------------------------------------------------------------------- */

static void put_timing(FILE *out)
{
  fprintf(out, "| row | wse2 | wse3 | status | source |\n| --- | --- | --- | --- | --- |\n");
  for (size_t i = 0; i < timing_row_count; i++) {
    const TimingRow *row = &timing_rows[i];
    fprintf(out, "| `%s` | %u | %u | %c | ", row->name, row->cycles[ARCH_WSE2],
            row->cycles[ARCH_WSE3], row->status);
    put_cell(out, row->source);
    fprintf(out, " |\n");
  }
}

static void put_widths(FILE *out)
{
  const Timing *a = timing_get(ARCH_WSE2), *b = timing_get(ARCH_WSE3);
  fprintf(out, "| operation | wse2 | wse3 |\n| --- | --- | --- |\n");
  for (unsigned i = 0; i < VEC_COUNT; i++)
    fprintf(out, "| `%s` | %u | %u |\n", vecops[i].name, a->simd[i], b->simd[i]);
}

static void put_strides(FILE *out)
{
  const Timing *a = timing_get(ARCH_WSE2);
  fprintf(out, "| stride modulo 8 | elements of a group |\n| --- | --- |\n"
               "| 0 and 1 themselves | all |\n");
  for (unsigned i = 0; i < ARRAY_COUNT(a->stride_limit); i++) {
    if (a->stride_limit[i])
      fprintf(out, "| %u | at most %u |\n", i, a->stride_limit[i]);
    else
      fprintf(out, "| %u | all |\n", i);
  }
}

/* ---- calibration ------------------------------------------------------------------------- */

enum { TIMESTAMP_INSNS = 3 };

/* What the rows of timing.def give from one timestamp to the next around an operation. */
static unsigned predict_vector(unsigned n, VecOp op, bool conflict, unsigned loads)
{
  const Timing *t = timing_get(ARCH_WSE2);
  unsigned groups = (n + t->simd[op] - 1) / t->simd[op];
  return TIMESTAMP_INSNS * t->store + loads * t->dsr_load + t->vector_start +
         groups * (1 + (conflict ? t->bank_conflict : 0u)) + t->vector_end - 1;
}

static void put_vector_point(FILE *out, unsigned n, VecOp op, bool conflict, unsigned loads,
                             unsigned least, unsigned most, unsigned emulated)
{
  fprintf(out, "| `@%s`, %u elements%s, %u descriptors loaded | %u", vecops[op].name, n,
          conflict ? ", conflicting banks" : "", loads, least);
  if (most != least)
    fprintf(out, " to %u", most);
  int difference = emulated < least ? (int)emulated - (int)least
                                    : emulated > most ? (int)(emulated - most) : 0;
  fprintf(out, " | %u | %u | %+d |\n", predict_vector(n, op, conflict, loads), emulated,
          difference);
}

static void put_vector_points(FILE *out)
{
  fprintf(out, "| operation | published | predicted | emulated | difference |\n"
               "| --- | --- | --- | --- | --- |\n");
#define VECTOR(n, op, conflict, loads, least, most, emulated) \
  put_vector_point(out, n, VEC_##op, conflict, loads, least, most, emulated);
#define LAW(program, tiles, length, model, emulated)
#define LAW2D(program, side, length, model, emulated)
#include "emu/machine/calibration.def"
}

static void put_law(FILE *out, const char *program, const char *tiles, unsigned length,
                    unsigned model, unsigned emulated)
{
  fprintf(out, "| %s, %s tiles, %u element%s | %u | %u | %+d |\n", program, tiles, length,
          length == 1 ? "" : "s", model, emulated, (int)emulated - (int)model);
}

static void put_laws(FILE *out)
{
  fprintf(out, "| program | predicted | emulated | difference |\n| --- | --- | --- | --- |\n");
#define VECTOR(n, op, conflict, loads, least, most, emulated)
#define LAW(program, tiles, length, model, emulated) \
  put_law(out, #program, #tiles, length, model, emulated);
#define LAW2D(program, side, length, model, emulated) \
  put_law(out, #program, #side " x " #side, length, model, emulated);
#include "emu/machine/calibration.def"
}

static const struct { const char *name; void (*put)(FILE *); } parts[] = {
  {"formats", put_formats},           {"instructions", put_instructions},
  {"vector operations", put_vecops},  {"dsr fields", put_dsr_fields},
  {"configuration registers", put_config_regs},
  {"descriptor kinds", put_descriptor_kinds},
  {"machine", put_machine},           {"header", put_header},
  {"sections", put_sections},         {"timing", put_timing},
  {"widths", put_widths},             {"strides", put_strides},
  {"vector points", put_vector_points}, {"laws", put_laws},
};

/* ---- files ------------------------------------------------------------------------------- */

static const char part_start[] = "<!-- generated: ", part_mark_end[] = " -->\n";
static const char part_end[] = "<!-- end -->\n";

static bool put_part(FILE *out, const char *name, size_t length)
{
  for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
    if (strlen(parts[i].name) == length && memcmp(parts[i].name, name, length) == 0) {
      parts[i].put(out);
      return true;
    }
  }
  return false;
}

/* Copies the text, generated parts renewed; returns what is wrong with it, or NULL. */
static const char *renew_text(const char *text, FILE *out)
{
  for (;;) {
    const char *start = strstr(text, part_start);
    if (!start) {
      fputs(text, out);
      return NULL;
    }
    const char *name = start + strlen(part_start), *name_end = strstr(name, part_mark_end);
    const char *end = strstr(name, part_end);
    if (!name_end || !end || end < name_end)
      return "a generated part does not end";
    const char *body = name_end + strlen(part_mark_end);
    fwrite(text, 1, (size_t)(body - text), out);
    if (!put_part(out, name, (size_t)(name_end - name)))
      return "a generated part has an unknown name";
    text = end;
    fwrite(text, 1, strlen(part_end), out);
    text += strlen(part_end);
  }
}

static bool handle_file(const char *path, bool update)
{
  size_t length, new_length;
  char *text = file_read_all(path, &length), *renewed = NULL;
  if (!text) {
    perror(path);
    return false;
  }
  FILE *out = open_memstream(&renewed, &new_length);
  if (!out)
    ICE("no memory");
  const char *wrong = renew_text(text, out);
  fclose(out);
  bool done = !wrong;
  if (wrong) {
    fprintf(stderr, "%s: %s\n", path, wrong);
  } else if (!update) {
    fwrite(renewed, 1, new_length, stdout);
  } else if (!file_write_all(path, renewed, new_length)) {
    perror(path);
    done = false;
  }
  free(text);
  free(renewed);
  return done;
}

int main(int argc, char **argv)
{
  if (argc > 1 && strcmp(argv[1], "--help") == 0) {
    printf("usage: wse-docgen [--update] FILE...\n"
           "Prints each page with its generated tables renewed; --update writes it back.\n");
    return command_line_end("wse-docgen", 0);
  }
  bool update = argc > 1 && strcmp(argv[1], "--update") == 0, good = argc > 1 + update;
  if (!good)
    fprintf(stderr, "usage: wse-docgen [--update] FILE...\n");
  for (int i = 1 + update; i < argc; i++)
    good = handle_file(argv[i], update) && good;
  return command_line_end("wse-docgen", good ? 0 : 2);
}
