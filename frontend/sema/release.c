/* The SDK release of a program.
 *
 * The compiler accepts the features of all releases at once. Two things differ without a word in
 * the program: whether fabric DSDs pack 16-bit elements, and whether DSDs bind queues. So the
 * compiler collects signs while it reads and evaluates the program's own files; a sign of release 2
 * decides, since no earlier compiler took it, and without any sign the release is 1.4. */
#include "frontend/sema/sema_internal.h"

#include <stb_ds.h>
#include <string.h>

typedef struct { Sdk release; const char *what; } SignRow;
static const SignRow rows[SIGN_COUNT] = {
#define SIGN(id, release, word, what) {release, what},
#include "frontend/release.def"
};

void release_sign(Session *session, SignId sign, Span at)
{
  Span *first = &session->signs[sign];
  if (first->off == 0)
    *first = at;
}

/* Where the sign is, in what was read or in what was evaluated. */
static Span sign_place(const Session *session, SignId sign)
{
  Span evaluated = session->signs[sign];
  return evaluated.off ? evaluated : files_signs(session->files)[sign];
}

void release_sign_here(Sema *s, SignId sign, Span at)
{
  bool is_new = s->session->signs[sign].off == 0;
  if (is_new && !sema_in_library(s) && s->own->unused == NULL)
    release_sign(s->session, sign, at);
}

/* Is a field whose name starts so bound, to an integer if `integer`? */
static bool has_binding(Sema *s, const ModuleInstance *m, const char *start, bool integer)
{
  if (pool_is_none(m->params))
    return false;
  PoolKey params = pool_key(s->pool, m->params);
  PoolKey type = pool_key(s->pool, params.type);
  for (uint32_t i = 0; i < type.u.fields.n; i++) {
    const char *name = sema_text(s, type.u.fields.fields[i].name);
    PoolId of = type.u.fields.fields[i].type;
    if (strncmp(name, start, strlen(start)) == 0 && (!integer || type_is_int(s->pool, of)))
      return true;
  }
  return false;
}

static bool is_new_library(const char *path)
{
  static const char *const paths[] = {"<data_utils>", "<string>", "<types>"};
  for (size_t i = 0; i < ARRAY_COUNT(paths); i++)
    if (strcmp(path, paths[i]) == 0)
      return true;
  return false;
}

void release_look_at_imports(Sema *s)
{
  for (uint32_t i = 0; i < arrlenu(s->modules); i++) {
    const ModuleInstance *m = &s->modules[i];
    const char *path = sema_text(s, m->path);
    if (m->parent == IR_NO_ID || sema_is_library(s, m->parent))
      continue;
    if (is_new_library(path))
      release_sign(s->session, SIGN_NEW_LIBRARY, m->imported_at);
    if (strcmp(path, "<memcpy/get_params>") == 0 && has_binding(s, m, "MEMCPY", true))
      release_sign(s->session, SIGN_MEMCPY_INTEGERS, m->imported_at);
    if (strcmp(path, "<kernels/tally/pe>") == 0 && has_binding(s, m, "tally_params", false))
      release_sign(s->session, SIGN_TALLY_PARAMS, m->imported_at);
  }
}

Sdk release_of(const Session *session)
{
  if (session->options->sdk)
    return (Sdk)session->options->sdk;
  for (unsigned i = 0; i < SIGN_COUNT; i++)
    if (rows[i].release == SDK_2 && sign_place(session, (SignId)i).off)
      return SDK_2;
  return SDK_1_4;
}

void release_note(const Session *session)
{
  for (unsigned i = 0; i < SIGN_COUNT && !session->options->sdk; i++)
    if (rows[i].release == SDK_2 && sign_place(session, (SignId)i).off) {
      diag_release_shown_here(session->diags, sign_place(session, (SignId)i), rows[i].what);
      return;
    }
}

bool release_allows(const Session *session)
{
  Span load = session->signs[SIGN_MEM4D_LOAD];
  if (load.off == 0 || release_of(session) != SDK_2)
    return true;
  diag_load_mem4d(session->diags, load);
  release_note(session);
  return false;
}

static void print_signs(const Session *session, Sdk release, const char *start, FILE *out)
{
  for (unsigned i = 0; i < SIGN_COUNT; i++) {
    if (rows[i].release != release || !sign_place(session, (SignId)i).off)
      continue;
    SourceLoc at = source_locate(session->sources, sign_place(session, (SignId)i).off);
    fprintf(out, "%s %s at %s:%u\n", start, rows[i].what, at.path, at.line);
  }
}

void release_print(const Session *session, FILE *out)
{
  Sdk release = release_of(session);
  const char *name = release == SDK_2 ? "2" : "1.4";
  bool is_given = session->options->sdk != 0;
  fprintf(out, "cslc: SDK %s%s\n", name, is_given ? ", by --sdk" : "");
  print_signs(session, release, is_given ? "cslc:   also" : "cslc:   because of", out);
  print_signs(session, release == SDK_2 ? SDK_1_4 : SDK_2, "cslc:   in spite of", out);
  bool any = false;
  for (unsigned i = 0; i < SIGN_COUNT; i++)
    any |= sign_place(session, (SignId)i).off != 0;
  if (!any && !is_given)
    fprintf(out, "cslc:   because nothing in the program shows a release\n");
}
