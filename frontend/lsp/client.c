/* The client: messages to it and from it, and what it can do. */
#include "frontend/lsp/lsp.h"

#include <errno.h>
#include <stb_ds.h>
#include <stdlib.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16 };

/* ---- out ------------------------------------------------------------------------------------ */

static void send_message(Client *c, json_t *message)
{
  json_object_set_new(message, "jsonrpc", json_string("2.0"));
  char *text = json_dumps(message, JSON_COMPACT);
  json_decref(message);
  if (!text)
    ICE("a message is no JSON");
  c->is_gone |= !frame_write(c->out, text);
  free(text);
}

void client_send_result(Client *c, const json_t *id, json_t *result)
{
  json_t *message = json_pack("{s:o}", "result", result ? result : json_null());
  json_object_set(message, "id", (json_t *)(uintptr_t)id);
  send_message(c, message);
}

void client_send_error(Client *c, const json_t *id, ClientError code, const char *text)
{
  json_t *message = json_pack("{s:{s:i,s:o}}", "error", "code", (int)code, "message",
                              base_json_text(text));
  json_object_set_new(message, "id", id ? json_deep_copy(id) : json_null());
  send_message(c, message);
}

void client_notify(Client *c, const char *method, json_t *params)
{
  send_message(c, json_pack("{s:s,s:o}", "method", method, "params", params));
}

/* Nobody waits for the answer. */
static void send_request(Client *c, const char *method, json_t *params)
{
  json_t *message = json_pack("{s:s,s:I}", "method", method, "id", (json_int_t)++c->n_requests);
  if (params)
    json_object_set_new(message, "params", params);
  send_message(c, message);
}

/* ---- what it can do ------------------------------------------------------------------------- */

static bool is_able(const json_t *workspace, const char *what, const char *how)
{
  return json_is_true(json_object_get(json_object_get(workspace, what), how));
}

void client_read_abilities(Client *c, const json_t *initialize)
{
  const json_t *all = json_object_get(initialize, "capabilities");
  const json_t *workspace = json_object_get(all, "workspace");
  c->refreshes_hints = is_able(workspace, "inlayHint", "refreshSupport");
  c->refreshes_tokens = is_able(workspace, "semanticTokens", "refreshSupport");
  c->watches_files = is_able(workspace, "didChangeWatchedFiles", "dynamicRegistration");
}

void client_refresh(Client *c)
{
  if (c->refreshes_hints)
    send_request(c, "workspace/inlayHint/refresh", NULL);
  if (c->refreshes_tokens)
    send_request(c, "workspace/semanticTokens/refresh", NULL);
}

void client_watch_files(Client *c)
{
  static const char *const globs[] = {"**/*.csl", "**/*.json", "**/commands*.sh"};
  json_t *watchers = json_array();
  for (size_t i = 0; i < ARRAY_COUNT(globs); i++)
    json_array_append_new(watchers, json_pack("{s:s}", "globPattern", globs[i]));
  if (c->watches_files)
    send_request(c, "client/registerCapability",
            json_pack("{s:[{s:s,s:s,s:{s:O}}]}", "registrations", "id", "files", "method",
                      "workspace/didChangeWatchedFiles", "registerOptions", "watchers", watchers));
  json_decref(watchers);
}

/* ---- in ------------------------------------------------------------------------------------- */

void client_take_input(Client *c, ClientMessage *take, void *context)
{
  char bytes[READ_BYTES];
  ssize_t n = read(c->in, bytes, sizeof bytes);
  if (n <= 0) {
    c->is_gone |= n == 0 || errno != EINTR;
    return;
  }
  memcpy(arraddnptr(c->input, n), bytes, (size_t)n);
  for (size_t header; !c->is_gone;) {
    long long length = frame_length(c->input, arrlenu(c->input), &header);
    if (length == FRAME_WRONG) {
      client_send_error(c, NULL, ERROR_PARSE, "the header has no Content-Length");
      c->is_gone = true;       /* where the next message starts is not known */
    }
    if (length < 0 || arrlenu(c->input) < header + (size_t)length)
      return;
    take(context, c->input + header, (size_t)length);
    arrdeln(c->input, 0, header + (size_t)length);
  }
}
