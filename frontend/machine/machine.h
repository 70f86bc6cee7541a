/* What a program says about its tile: tasks, queues, colors, descriptors, and the operations over
 * descriptors.
 *
 * Reading order: machine_setup.c, color_config.c, builtin_id.c, builtin_task.c,
 * builtin_machine.c, dsd_ops.def, builtin_dsd.c, tensor_access.c, dsd_variable.c, dsd_reach.c,
 * op_settings.c, builtin_dsd_op.c, builtin_dsr.c, dsr_settings.c, builtin_fifo.c, builtin_map.c,
 * builtin_export.c. */
#ifndef FRONTEND_MACHINE_H
#define FRONTEND_MACHINE_H

#include "frontend/sema/sema.h"

/* ---- machine_setup.c, builtin_export.c: requests of top-level comptime blocks ------------ */

/* `is_declared`: the name of a constant or parameter of a file, or of an array of colors; otherwise
 * that of a field or of a function's parameter. */
typedef struct { StrId name; bool is_declared; } ColorName;

typedef struct {
  TaskKind kind;           /* TASK_NONE: free */
  uint32_t func;
  uint8_t arguments;
  bool by_color;           /* bound by @bind_task */
  bool is_activated;       /* by a data task's color or by its name */
  StrId name;
  Span span;
  uint32_t alternate;      /* rotating tasks: FuncInstance + 1 of the other task; 0 none */
  uint16_t limit, init;    /* it runs after `limit` runs of `func`; `init` of them count as done */
} TaskSlot;
/* A queue that something names. Its color is that of @initialize_queue; otherwise the first that a
 * DSD names with the queue, or the color for which the compiler chooses it. */
typedef struct {
  bool used, is_explicit;  /* explicit: @initialize_queue */
  bool is_chosen;          /* by the compiler */
  bool is_own;             /* the program's own code names it first, no library */
  uint8_t color;
  bool has_color;
  uint32_t colors;         /* all that it serves, a bit each */
  uint32_t refused;        /* those of an @initialize_queue that was one too many */
  Priority priority;
  StrId name;
  Span span;
} QueueSlot;
typedef struct {
  DsrFile file;
  uint8_t number;
  IrDesc desc;
  Span span;
  uint32_t module;         /* the instance whose code loads it */
} DsrPreset;
/* A register that the code of an instance loads when the program runs. */
typedef struct {
  DsrFile file;
  uint8_t number;
  Span span;               /* of the first load */
  uint32_t module;
} DsrReload;
/* Settings that a load puts into a DSR beside the descriptor, as bits. */
enum { DSR_SETTING_ASYNC = 1, DSR_SETTING_ACTIVATE = 2, DSR_SETTING_UNBLOCK = 4,
       DSR_SETTING_ON_CONTROL = 8, DSR_SETTING_UT = 16 };
typedef struct {
  bool is_loaded;
  uint8_t settings;        /* of all loads together */
  Span span;               /* of the first */
} DsrLoads;
/* An operation that only DSRs can run in the background. */
typedef struct {
  uint8_t wanted, n_dsrs;
  uint8_t numbers[DSR_FILE_COUNT];
  DsrFile files[DSR_FILE_COUNT];
  const char *name;
  Span span;
} DsrOperation;
typedef struct {
  StrId name;
  bool is_func;
  uint32_t target;         /* index of a Global or FuncInstance */
  PoolId type;
  bool is_mutable;
  uint32_t extent;
  Span span;
} ExportedSymbol;
typedef struct {
  uint32_t buffer, state;  /* Globals */
  uint32_t capacity;       /* elements */
  uint32_t element_bytes;
  uint16_t push, pop;      /* action words */
  uint16_t flags;          /* of the state block: what happens when it is empty or full */
  Priority priority;
  unsigned moved_bytes;    /* of the elements of the first operation on it; 0: there is none yet */
  Span moved_span;         /* that operation's */
} Fifo;
/* A variable that holds a DSD: a Global, or the place of a local one in its function. */
typedef struct { bool is_local; uint32_t global; IrFuncId func; IrValue place; } DsdVariable;
/* Messages about a DSD of another color than its queue's. They count if the queue keeps its color
 * when the program runs, and if the tile uses such a DSD. */
typedef struct {
  bool is_output;
  unsigned queue;
  uint8_t color;
  const TakenDiags *taken;
} QueueMessages;
/* What a class of tiles may lack and another have, by its place and a number, and the messages that
 * this class lacks it; NULL: it does not. */
typedef struct { uint64_t key; const TakenDiags *taken; } NotedNeed;
/* Messages about an operation, which count if a run can come to its block and nothing writes any of
 * the variables; `on_elements`: a write that leaves a DSD over such elements does not count. */
typedef struct {
  IrFuncId func;
  IrBlockId block;
  bool on_elements;
  uint32_t n;
  const DsdVariable *variables;
  const TakenDiags *taken;
} HeldMessages;
/* The one call of a function, if nothing else leads to it; calls: how many there are. */
typedef struct { unsigned calls; const IrFunc *caller; const IrInsn *call; } SoleCall;
/* What loads a DSR, when the tile starts or as it runs, if nothing else changes it; changes: how
 * many places do, without those of its base address. */
typedef struct { unsigned changes; const IrDesc *preset; const IrFunc *f; const IrInsn *load; }
  SoleLoad;
/* Tasks and channels, a bit each: unblocked before the tile starts; by code or the end of an
 * operation, if the run comes to it, and what names them there. */
typedef struct { uint64_t first, later; Span later_span[MAX_TASK_IDS]; } Unblocked;
typedef struct MachineSetup {
  TaskSlot tasks[MAX_TASK_IDS];
  bool separate_control;                 /* wse3: control tasks stand in a table of their own: */
  TaskSlot control_tasks[MAX_TASK_IDS];
  uint64_t active, blocked;
  Unblocked unblocked;
  Span active_span[MAX_TASK_IDS];        /* the @activate of each that is active */
  Span blocked_span[MAX_TASK_IDS];       /* what @block names, of each that is blocked */
  Span color_span[MAX_TASK_IDS];         /* a color that stands for a task, maybe not bound yet */
  bool binds_by_color;                   /* @bind_task is used */
  uint32_t *misbound;                    /* stb_ds: functions whose binding has an error */
  uint32_t *clashes;                     /* stb_ds: imports of a library that clash with others */
  uint8_t paused;
  QueueSlot queues[2][MAX_QUEUES];       /* 0 input, 1 output */
  uint32_t implicit[2];                  /* colors without a named queue, one bit each */
  Span implicit_span[2][MAX_COLORS];
  DsrLoads dsr_loads[DSR_FILE_COUNT][MAX_DSRS];
  DsrOperation *dsr_operations;          /* stb_ds arrays */
  DsrPreset *dsrs;
  DsrReload *dsr_reloads;
  ImageConfig *configs;
  ExportedSymbol *exports;
  Fifo *fifos;
  uint32_t n_virtual_dsrs;               /* of @map; numbered through the program */
  uint32_t local_color[MAX_COLORS];      /* color configuration + 1; 0 none */
  Span local_color_span[MAX_COLORS];
  uint32_t routed;            /* colors whose routes the running program sets, a bit each */
  Span filter_span[MAX_COLORS];        /* where the filter's number is asked for; off 0: nowhere */
  uint32_t teardown_handler[MAX_COLORS]; /* index of a FuncInstance + 1; 0 none */
  uint32_t empty_handler[2][MAX_QUEUES]; /* likewise */
  Span flushed_span[2][MAX_QUEUES];      /* where the queue is flushed first; off 0: nowhere */
  ColorName color_names[MAX_COLORS];
  /* Of fabric DSDs that are data of variables: how many by direction (0 input) and color, and the
   * tasks that their actions name, by ActionKind. */
  uint32_t stored_dsds[2][MAX_COLORS];
  uint64_t stored_tasks[ACT_TERMINATE + 1];
  HeldMessages *held;                    /* stb_ds arrays */
  bool held_are_told;                    /* what follows is no longer held */
  QueueMessages *held_of_queues;
  Span *payloads_told;                   /* operations that send a control payload as data */
  NotedNeed *data_task_queues;           /* of wse3, and of control tasks; taken: none is open */
  NotedNeed *local_tasks;                /* taken: nothing activates it */
  NotedNeed *queues_needed;              /* by operations; taken: not initialised */
  NotedNeed *tasks_needed;               /* by activations; taken: not bound */
  NotedNeed *dsrs_needed;                /* by operations; taken: not loaded */
  const IrDesc *const *constant_dsds;    /* lint_variables.c: by global of the IR, or NULL */
  const IrDesc *const *moving_dsds;      /* likewise, of variables whose writes keep the elements */
  const IrValue **only_stores;           /* likewise, by function of the IR; NULL: not asked yet */
  const SoleCall *sole_calls;            /* likewise, all at once */
  const SoleLoad (*sole_loads)[MAX_DSRS]; /* lint_registers.c: by file and number; likewise */
  const uint8_t **ways;                  /* lint_runs.c: the same */
  const bool *unwritten;                 /* for `ways`: by global of the IR */
} MachineSetup;
enum { QUEUE_IMPLICIT = 0xf };           /* in a descriptor until setup_finish chooses */
MachineSetup *setup_create(Arena *arena);
void setup_destroy(MachineSetup *setup);
/* Warn about resources that the system or the link to the host uses itself. */
void setup_check_color(Sema *s, unsigned color, Span span);
TensorAccess sema_tensor_access;
/* May the host call a function, or read and write a variable, of this type? */
bool sema_is_exportable(Sema *s, PoolId type);
/* Bytes of what the host counts of exported data: an element, or a word of a struct or union. */
uint32_t export_unit_bytes(const Pool *pool, PoolId element);
/* Two parts of the program want one color, queue, task id or register.  False for all but the first
 * such clash of an import of the library: mostly it has the parameters of another one, and one
 * report says so. */
bool setup_is_first_clash(Sema *s);
/* Can operations use it? */
bool setup_queue_is_initialised(const Sema *s, bool is_output, unsigned queue);
/* wse3: control tasks that got no table of their own take their entries of the common one. */
void setup_join_control_tasks(Sema *s);
/* In this order, around sema_compile_pending and sema_finish: what the set-up refers to is
 * compiled; then the compiler chooses queues without a name, and descriptors of initial data take
 * theirs by setup_resolve; last it puts the set-up into the module. */
void setup_reference(Sema *s);
void setup_choose_queues(Sema *s);
IrDesc setup_resolve(Sema *s, IrDesc desc);
/* The same for initial data: what such a descriptor names may be used anywhere. */
StoredDesc setup_stored_desc;
/* The task that the action names, as a bit; 0: none, or the action is of another kind. */
uint64_t setup_task_of(Action action, ActionKind kind);
/* The task that the action activates, as a bit; 0: none. */
uint64_t setup_started_task(Action action);
/* Those that stored descriptors, preset DSRs and FIFOs may activate or unblock, a bit each. */
uint64_t setup_tasks_beside_code(const Sema *s, ActionKind kind);
void setup_finish(Sema *s);

/* ---- layout.c, color_config.c, dsd_reach.c ----------------------------------------------- */

/* What the elements of a host's array are, if the host says. */
typedef enum { ELEMENTS_UNKNOWN, ELEMENTS_INTEGERS, ELEMENTS_FLOATS } HostElements;
/* Initial content of a variable of the tile's main file. */
typedef struct {
  StrId name;
  const uint8_t *bytes;
  uint32_t size;
  HostElements elements;
  uint32_t element_bytes;
  Span span;
} LayoutSymbol;
typedef struct {
  const Ast *ast;                /* NULL: no code */
  PoolId params;
  const Node *params_node;
  Span span;
  uint32_t n_symbols;
  const LayoutSymbol *symbols;
} LayoutTile;
typedef struct { PoolId name; const Ast *importer, *ast; } LayoutFile;
/* A host stream enters or leaves at a tile of its own. */
typedef struct { const char *name; uint32_t x, y; bool is_input; int64_t size; } LayoutStream;
typedef struct { const char *name; uint8_t color; } LayoutColor;
typedef struct {
  StrId name;
  PoolId type;
  bool is_mutable, has_symbol;  /* has_symbol: the program of a tile that was compiled exports it */
  Span span;
} LayoutExport;
/* Interned color configurations and sets of (color, configuration). */
typedef struct ColorTable ColorTable;
ColorTable *color_table_create(Arena *arena);
void color_table_destroy(ColorTable *table);
/* "EAST, RAMP"; "nowhere": none. */
const char *ports_text(Arena *arena, PortMask mask);
/* Index of the configuration that the struct value describes; false after reporting. */
bool color_config_of(Sema *s, ColorTable *table, uint8_t color, PoolId value, const Node *node,
                     uint32_t *config);
/* The set with one more member; set 0 is empty.  False if the color is in it: *first is where
 * it was put in. */
bool color_set_add(ColorTable *table, uint32_t set, uint8_t color, uint32_t config, Span span,
                   uint32_t *result, Span *first);
/* False after reporting that the tile (x, y), whose set has just taken in `config`, has more
 * filters than there are. */
bool color_set_fits(Session *session, const ColorTable *table, uint32_t set, uint32_t config,
                    uint32_t x, uint32_t y, Span at);
/* The one place where the color gets the configuration that it has in the set; off 0: there are
 * several, or none. */
Span color_set_span(const ColorTable *table, uint32_t set, uint8_t color);
bool color_set_has_filter(const ColorTable *table, uint32_t set, uint8_t color);
/* Index of a configuration; its padding must be zero. */
uint32_t color_config_intern(ColorTable *table, const ImageColorConfig *config);
const ImageColorConfig *color_table_configs(const ColorTable *table, uint32_t *n);
const ImageColorSet *color_table_sets(ColorTable *table, Arena *arena, uint32_t *n);

struct LayoutResult {
  const Ast *ast;                /* the file compiled */
  LayoutFile last_file;          /* the program named last in @set_tile_code */
  PoolId params;                 /* its parameters, from the command line */
  bool has_block;                /* a layout block; else one tile runs the file */
  bool has_rectangle, rectangle_is_wrong;    /* the latter after reporting */
  Span rectangle_span;
  uint32_t width, height;
  uint32_t fabric_width, fabric_height, offset_x, offset_y;
  LayoutTile *tiles;             /* width * height, row-major */
  uint32_t *tile_sets;
  LayoutExport *exports;         /* stb_ds */
  ColorTable *colors;
  ColorName color_names[MAX_COLORS];     /* the first of each */
  PoolId color_arrays[MAX_COLORS];       /* of a color named by its array: that; else none */
  /* Of --layout-json: */
  uint32_t n_named_colors;       /* every color of the file */
  LayoutColor *named_colors;
  uint32_t origin_x, origin_y;   /* where its (0, 0) is in the rectangle */
  uint32_t n_streams;
  LayoutStream *streams;
  uint8_t stream_color;          /* between the host and the streams' tiles */
  bool names_streams;            /* the layout has <memcpy/get_params> */
  uint32_t named_streams[2];     /* colors that <memcpy> gets: [0] to the host, [1] to the tiles */
};

/* Elements that a descriptor describes, without an end from the machine's unbounded_length on;
 * 0: it leaves that to the other operands. */
uint32_t descriptor_length(const Descriptor *d);

#endif
