/* Loads of DSRs that an operation or another import relies on.
 *
 * Settings of operations on DSRs: .async and the like belong to the load.
 * A descriptor carries them into its DSR, so an operation can only repeat what a load has given.
 * The code that loads may come after the operation or lie in another module, so the check waits
 * until all of the program is known. It warns: only other tiles may reach the operation.
 *
 * What an import loads before the start serves all its operations. If another import loads the
 * register when the program runs, the first one's next operation has the wrong descriptor. */
#include "frontend/machine/machine_internal.h"
#include "frontend/machine/dsd.h"

#include <stb_ds.h>

static const struct { uint8_t bit; const char *name; } settings[] = {
  {DSR_SETTING_ASYNC, "async"}, {DSR_SETTING_ACTIVATE, "activate"},
  {DSR_SETTING_UNBLOCK, "unblock"}, {DSR_SETTING_ON_CONTROL, "on_control"},
  {DSR_SETTING_UT, "ut_id"},
};

uint8_t dsr_settings_of(const OpSettings *set)
{
  unsigned bits = 0;
  if (set->is_async)
    bits |= DSR_SETTING_ASYNC;
  if (set->done.kind != ACT_NONE)
    bits |= set->done.kind == ACT_ACTIVATE ? DSR_SETTING_ACTIVATE : DSR_SETTING_UNBLOCK;
  if (set->on_control.kind != ACT_NONE)
    bits |= DSR_SETTING_ON_CONTROL;
  if (set->has_ut)
    bits |= DSR_SETTING_UT;
  return (uint8_t)bits;
}

void setup_note_dsr_load(Sema *s, DsrFile file, uint8_t number, uint8_t given, Span span)
{
  DsrLoads *loads = &s->setup->dsr_loads[file][number];
  if (!loads->is_loaded)
    *loads = (DsrLoads){.is_loaded = true, .span = span};
  loads->settings |= given;
}

void setup_note_dsr_operation(Sema *s, DsrOperation operation)
{
  if (operation.wanted && operation.n_dsrs > 0)
    arrput(s->setup->dsr_operations, operation);
}

static const DsrLoads *loads_of(const Sema *s, const DsrOperation *o, unsigned i)
{
  return &s->setup->dsr_loads[o->files[i]][o->numbers[i]];
}

/* Settings that some load of the operation's DSRs gives; all of them if one is loaded elsewhere,
 * as by a FIFO. */
static uint8_t given_settings(const Sema *s, const DsrOperation *o)
{
  uint8_t given = 0;
  for (unsigned i = 0; i < o->n_dsrs; i++)
    given |= loads_of(s, o, i)->is_loaded ? loads_of(s, o, i)->settings : UINT8_MAX;
  /* Each ends the operation with an action; which one may differ from load to load. */
  uint8_t actions = DSR_SETTING_ACTIVATE | DSR_SETTING_UNBLOCK;
  return given & actions ? given | actions : given;
}

static const char *registers_text(Sema *s, const DsrOperation *o)
{
  const char *text = "";
  for (unsigned i = 0; i < o->n_dsrs; i++)
    text = arena_printf(s->arena, "%s%s%s register %u", text, i ? " or " : "",
                        dsr_file_name(o->files[i]), o->numbers[i]);
  return text;
}

static void warn_lost(Sema *s, const DsrOperation *o, const char *setting)
{
  diag_dsr_setting_lost(s->diags, o->span, o->name, setting, registers_text(s, o));
  for (unsigned i = 0; i < o->n_dsrs; i++)
    diag_dsr_loaded_here(s->diags, loads_of(s, o, i)->span, dsr_file_name(o->files[i]),
                         o->numbers[i]);
}

void setup_check_dsr_operations(Sema *s)
{
  for (size_t i = 0; i < arrlenu(s->setup->dsr_operations); i++) {
    const DsrOperation *o = &s->setup->dsr_operations[i];
    uint8_t lost = o->wanted & (uint8_t)~given_settings(s, o);
    for (size_t k = 0; k < ARRAY_COUNT(settings); k++)
      if (lost & settings[k].bit) {
        warn_lost(s, o, settings[k].name);
        break;
      }
  }
}

/* ---- registers that two imports load --------------------------------------------------------- */

void setup_note_dsr_loader(Sema *s, uint32_t module, const char *when)
{
  const ModuleInstance *m = &s->modules[module];
  if (m->parent != IR_NO_ID)
    diag_dsr_loader(s->diags, m->imported_at, sema_text(s, m->path), when);
}

static const DsrReload *reload_by(const Sema *s, DsrFile file, uint8_t number, uint32_t module)
{
  for (size_t i = 0; i < arrlenu(s->setup->dsr_reloads); i++) {
    const DsrReload *r = &s->setup->dsr_reloads[i];
    if (r->file == file && r->number == number && r->module == module)
      return r;
  }
  return NULL;
}

void setup_note_dsr_reload(Sema *s, DsrFile file, uint8_t number, Span span)
{
  if (!reload_by(s, file, number, s->now.module))
    arrput(s->setup->dsr_reloads, ((DsrReload){file, number, span, s->now.module}));
}

static bool is_within(const Sema *s, uint32_t module, uint32_t other)
{
  while (module != other && module != IR_NO_ID)
    module = s->modules[module].parent;
  return module == other;
}

/* Neither imports the other, so neither loads on the other's behalf. */
static bool are_strangers(const Sema *s, uint32_t a, uint32_t b)
{
  return !is_within(s, a, b) && !is_within(s, b, a);
}

void setup_check_dsr_presets(Sema *s)
{
  for (size_t i = 0; i < arrlenu(s->setup->dsrs); i++) {
    const DsrPreset *preset = &s->setup->dsrs[i];
    if (reload_by(s, preset->file, preset->number, preset->module))
      continue;
    for (size_t k = 0; k < arrlenu(s->setup->dsr_reloads); k++) {
      const DsrReload *r = &s->setup->dsr_reloads[k];
      if (r->file != preset->file || r->number != preset->number ||
          !are_strangers(s, r->module, preset->module))
        continue;
      diag_dsr_preset_lost(s->diags, r->span, dsr_file_name(r->file), r->number);
      diag_first_here(s->diags, preset->span);
      setup_note_dsr_loader(s, preset->module, "before the start");
      setup_note_dsr_loader(s, r->module, "when it runs");
      diag_dsr_preset_lost_help(s->diags, r->span);
      break;
    }
  }
}
