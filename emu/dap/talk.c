/* What all requests need: messages out, arguments in, references that the client holds. */
#include "emu/dap/dap_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>

/* ---- messages -------------------------------------------------------------------------------- */

static void send_message(DapServer *s, json_t *message)
{
  json_object_set_new(message, "seq", json_integer(++s->sequence));
  wire_send(s->wire, message);
}

void send_event(DapServer *s, const char *name, json_t *body)
{
  json_t *message = json_pack("{s:s,s:s}", "type", "event", "event", name);
  json_object_set_new(message, "body", body ? body : json_object());
  send_message(s, message);
}

void send_answer(DapServer *s, const json_t *request, json_t *body, const char *why)
{
  json_t *message = json_pack("{s:s,s:b}", "type", "response", "success", !why);
  json_t *seq = json_object_get(request, "seq"), *command = json_object_get(request, "command");
  json_object_set(message, "request_seq", seq ? seq : json_null());
  json_object_set(message, "command", command ? command : json_null());
  if (why)
    json_object_set_new(message, "message", base_json_text(why));
  if (body)
    json_object_set_new(message, "body", body);
  send_message(s, message);
}

json_t *refuse_request(DapServer *s, const char *format, ...)
{
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  free(s->why);
  s->why = base_print("%s", text);
  return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

const char *arg_text(const json_t *args, const char *key, const char *otherwise)
{
  const char *text = json_string_value(json_object_get(args, key));
  return text ? text : otherwise;
}

json_int_t arg_number(const json_t *args, const char *key, json_int_t otherwise)
{
  static const json_int_t most = (json_int_t)1 << 48; /* so that sums cannot overflow */
  const json_t *value = json_object_get(args, key);
  json_int_t number = json_is_integer(value) ? json_integer_value(value) : otherwise;
  return number > most ? most : number < -most ? -most : number;
}

bool arg_truth(const json_t *args, const char *key, bool otherwise)
{
  const json_t *value = json_object_get(args, key);
  return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* ---- what the debugger writes ---------------------------------------------------------------- */

FILE *capture_begin(DapServer *s, char **text, size_t *length)
{
  FILE *stream = base_text_open(text, length);
  s->debugger.out = stream;
  return stream;
}

void capture_end(DapServer *s, FILE *stream, char **text)
{
  base_text_close(stream, text);
  size_t n = strlen(*text);
  if (n && (*text)[n - 1] == '\n')
    (*text)[n - 1] = 0;
  s->debugger.out = s->messages;
}

/* ---- references ------------------------------------------------------------------------------ */

json_int_t open_handle(DapServer *s, Handle handle)
{
  arrput(s->handles, handle);
  return (json_int_t)arrlenu(s->handles);
}

void forget_handles(DapServer *s)
{
  for (size_t i = 0; i < arrlenu(s->handles); i++)
    free(s->handles[i].path);
  arrsetlen(s->handles, 0);
  arrsetlen(s->frames, 0);
}

void end_run(DapServer *s)
{
  s->quit = true;
  s->move = MOVE_END;
}
