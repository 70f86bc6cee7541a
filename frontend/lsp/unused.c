/* Declarations that nothing uses, as hints that editors show in gray. The compiler does not
 * evaluate such code, so nothing else would say that it is there.
 *
 * By the rules of names alone, and silent where these do not decide: parameters, what is exported,
 * names with '_' in front, and the globals of modules, which other programs may use. */
#include "frontend/lsp/lsp.h"

#include <stb_ds.h>
#include <stdlib.h>

static bool is_exported(const NameSymbol *s)
{
  return s->node->kind == ND_VAR_DECL ? node_var_decl(s->node)->storage != STORAGE_NONE
                                      : node_fn_decl(s->node)->storage != STORAGE_NONE;
}

/* An import alone binds tasks, say; a file that is not known may do anything. */
static bool has_effects(const Ast *module)
{
  return !module || ast_declares(module, ND_COMPTIME);
}

/* Is it a kind of declaration whose use the names would show? */
static bool is_checked(const LspAnalysis *a, const NameSymbol *s)
{
  const Names *names = &a->names;
  bool is_local = s->visible.len > 0;
  if (!s->node || (s->node->kind != ND_VAR_DECL && s->node->kind != ND_FN_DECL))
    return false;
  if (s->kind == SYMBOL_PARAM || s->kind == SYMBOL_ARGUMENT || s->kind == SYMBOL_MEMBER ||
      s->kind == SYMBOL_LABEL || str_text(names->session->names, s->name)[0] == '_')
    return false;
  if (s->kind == SYMBOL_MODULE && has_effects(names_module_of(names, s)))
    return false;
  return is_local || (a->is_whole && !is_exported(s) && !names_is_module(names, s->file));
}

static const char *kind_text(SymbolKind kind)
{
  switch (kind) {
  case SYMBOL_FN: return "function";
  case SYMBOL_TASK: return "task";
  case SYMBOL_MODULE: return "import";
  case SYMBOL_VAR: case SYMBOL_LOCAL: return "variable";
  case SYMBOL_CONST: case SYMBOL_PARAM: case SYMBOL_ARGUMENT:
  case SYMBOL_MEMBER: case SYMBOL_LABEL: break;
  }
  return "declaration";
}

static json_t *make_hint(const LspAnalysis *a, const NameSymbol *s)
{
  enum { SEVERITY_HINT = 4, TAG_UNNECESSARY = 1 };
  char *text = base_print("nothing uses the %s '%s'",
                          kind_text(s->kind), str_text(a->session->names, s->name));
  json_t *hint = json_pack("{s:o,s:i,s:s,s:s,s:o,s:[i]}", "range", span_range(a->sources, s->at),
                           "severity", SEVERITY_HINT, "source", "csl-ls", "code", "unused",
                           "message", base_json_text(text), "tags", TAG_UNNECESSARY);
  free(text);
  return hint;
}

void unused_report(LspAnalysis *a)
{
  uint32_t *uses = base_zeroed(arrlenu(a->names.symbols) + 1, sizeof *uses);
  for (size_t i = 0; i < arrlenu(a->names.uses); i++)
    uses[a->names.uses[i].symbol]++;
  for (size_t i = 0; i < arrlenu(a->names.symbols); i++) {
    const NameSymbol *s = &a->names.symbols[i];
    if (uses[i] > 1 || source_path(a->sources, s->file)[0] == '<' || !is_checked(a, s))
      continue;
    char *path = analysis_path(a, s->file);
    json_array_append_new(analysis_messages(a, path), make_hint(a, s));
    free(path);
  }
  free(uses);
}
