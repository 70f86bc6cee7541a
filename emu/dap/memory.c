/* Bytes and instructions of a tile. */
#include "emu/dap/dap_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

enum { MOST_BYTES = PE_MEM_BYTES, MOST_INSTRUCTIONS = 10000 };

/* ---- base64 ---------------------------------------------------------------------------------- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *encode_bytes(const uint8_t *bytes, size_t n)
{
  char *text = base_malloc((n + 2) / 3 * 4 + 1), *to = text;
  for (size_t i = 0; i < n; i += 3) {
    uint32_t word = (uint32_t)bytes[i] << 16;
    word |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
    word |= i + 2 < n ? bytes[i + 2] : 0;
    *to++ = letters[word >> 18];
    *to++ = letters[word >> 12 & 63];
    *to++ = i + 1 < n ? letters[word >> 6 & 63] : '=';
    *to++ = i + 2 < n ? letters[word & 63] : '=';
  }
  *to = 0;
  return text;
}

/* Bytes in a stb_ds array; false: the text is no base64. */
static bool decode_bytes(const char *text, uint8_t **bytes)
{
  uint32_t word = 0;
  unsigned bits = 0;
  for (; *text && *text != '='; text++) {
    const char *letter = strchr(letters, *text);
    if (!letter)
      return false;
    word = word << 6 | (uint32_t)(letter - letters);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      arrput(*bytes, (uint8_t)(word >> bits));
    }
  }
  return strspn(text, "=") == strlen(text);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static bool find_address(DapServer *s, const json_t *args, uint32_t *tile, int64_t *address)
{
  if (!reference_read(s, arg_text(args, "memoryReference", ""), tile, address))
    return false;
  json_int_t offset = arg_number(args, "offset", 0);
  if (offset < -MOST_BYTES || offset > MOST_BYTES) {
    refuse_request(s, "the offset is larger than a tile's memory");
    return false;
  }
  *address += offset;
  return true;
}

json_t *answer_read_memory(DapServer *s, const json_t *args)
{
  uint32_t tile;
  int64_t address;
  if (!find_address(s, args, &tile, &address))
    return NULL;
  json_int_t count = arg_number(args, "count", 0);
  Engine *engine = timeline_engine(s->debugger.timeline);
  uint8_t bytes[MOST_BYTES];
  size_t n = 0;
  while ((json_int_t)n < count && n < MOST_BYTES && address >= 0 &&
         engine->ops->mem_read(engine, tile, (uint32_t)address + (uint32_t)n, &bytes[n], 1))
    n++;
  char *text = encode_bytes(bytes, n);
  char *at = reference_text(s, tile, address >= 0 ? (uint32_t)address : 0);
  json_t *body =
      json_pack("{s:o,s:o,s:I}", "address", base_json_text(at), "data", base_json_text(text),
                "unreadableBytes", count > (json_int_t)n ? count - (json_int_t)n : (json_int_t)0);
  free(text);
  free(at);
  return body;
}

json_t *answer_write_memory(DapServer *s, const json_t *args)
{
  uint32_t tile;
  int64_t address;
  uint8_t *bytes = NULL;
  json_t *body = NULL;
  if (!find_address(s, args, &tile, &address))
    return NULL;
  if (address < 0 || !decode_bytes(arg_text(args, "data", ""), &bytes) ||
      arrlenu(bytes) > MOST_BYTES)
    refuse_request(s, "the data are no base64 text, or longer than a tile's memory");
  else if (!timeline_write(s->debugger.timeline, tile, (uint32_t)address, bytes,
                           (uint32_t)arrlenu(bytes)))
    refuse_request(s, "the bytes lie outside the tile's memory, or the program stands in the past, "
                      "which cannot change");
  else
    body = json_pack("{s:I}", "bytesWritten", (json_int_t)arrlenu(bytes));
  arrfree(bytes);
  return body;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* Addresses of the instructions of a class, stb_ds. */
static uint32_t *list_instructions(const ClassCode *cls)
{
  uint32_t *list = NULL;
  for (uint32_t pc = cls->image->code_address; pc < cls->code_end;) {
    const Insn *insn = class_insn(cls, pc);
    if (insn)
      arrput(list, pc);
    pc += insn ? 2 * insn_words(insn->op) : 2;
  }
  return list;
}

static json_t *instruction_json(DapServer *s, uint32_t tile, uint32_t pc)
{
  const ClassCode *cls = program_class(s->debugger.program, tile);
  const Insn *insn = class_insn(cls, pc);
  const char *file;
  uint32_t line;
  char text[128], bytes[32] = "";
  insn_print(insn, text, sizeof text);
  for (unsigned i = 0; i < insn_words(insn->op); i++) {
    size_t n = strlen(bytes);
    snprintf(bytes + n, sizeof bytes - n, "%s%04x", i ? " " : "",
             cls->image->code[(pc - cls->image->code_address) / 2 + i]);
  }
  char *at = reference_text(s, tile, pc);
  json_t *out = json_pack("{s:o,s:s,s:s}", "address", base_json_text(at), "instruction", text,
                          "instructionBytes", bytes);
  free(at);
  const DebugFunction *f = calls_function(cls->image, pc);
  if (f && cls->image->symbols[f->symbol].address == pc)
    json_object_set_new(out, "symbol", base_json_text(cls->image->symbols[f->symbol].name));
  if (frames_place(s->debugger.program, tile, pc, &file, &line)) {
    json_t *source = places_source(s, file);
    if (source)
      json_object_set_new(out, "location", source);
    json_object_set_new(out, "line", json_integer((json_int_t)line + s->line_base));
  }
  return out;
}

/* What stands where no instruction does. */
static json_t *nothing_json(const DapServer *s, uint32_t tile, int64_t address)
{
  char *at = reference_text(s, tile, address > 0 ? (uint32_t)address : 0);
  json_t *out = json_pack("{s:o,s:s,s:s}", "address", base_json_text(at), "instruction",
                          "(no code)", "presentationHint", "invalid");
  free(at);
  return out;
}

json_t *answer_disassemble(DapServer *s, const json_t *args)
{
  uint32_t tile;
  int64_t address;
  if (!find_address(s, args, &tile, &address))
    return NULL;
  const ClassCode *cls = program_class(s->debugger.program, tile);
  if (!cls)
    return refuse_request(s, "the tile has no code");
  uint32_t *list = list_instructions(cls);
  int64_t first = 0, count = arg_number(args, "instructionCount", 0);
  int64_t skip = arg_number(args, "instructionOffset", 0);
  while (first < (int64_t)arrlenu(list) && list[first] < address)
    first++;
  skip = skip > MOST_INSTRUCTIONS    ? MOST_INSTRUCTIONS
         : skip < -MOST_INSTRUCTIONS ? -MOST_INSTRUCTIONS
                                     : skip;
  json_t *out = json_array();
  for (int64_t i = first + skip; i < first + skip + count && i < first + skip + MOST_INSTRUCTIONS;
       i++) {
    bool is_there = i >= 0 && i < (int64_t)arrlenu(list);
    json_array_append_new(out, is_there ? instruction_json(s, tile, list[i])
                                        : nothing_json(s, tile, address + 2 * (i - first)));
  }
  arrfree(list);
  return json_pack("{s:o}", "instructions", out);
}
