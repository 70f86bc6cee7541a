/* States of clusters in files: a header, the state of each wafer with the record of its host, as
 * state_file.c has it, then where each of them ends, and a checksum of the header and that. */
#include "emu/host/session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <stb_ds.h>
#include <zlib.h>

enum { STATES_VERSION = 1, MAGIC_BYTES = 8 };

typedef struct {
  char magic[MAGIC_BYTES];
  uint32_t version, plan, n_wafers, unused;
  uint64_t cycle;
} StatesHeader;

struct ClusterStates {
  StatesHeader header;          /* of this cluster; the cycle of the file */
  uint64_t *ends;               /* stb_ds: in the file to go on from */
  Engine **recorders;           /* stb_ds */
};

static uint32_t checksum(const StatesHeader *header, const uint64_t *ends)
{
  uint32_t crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const void *)header, sizeof *header);
  return (uint32_t)crc32_z(crc, (const void *)ends, arrlenu(ends) * sizeof *ends);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *check_header(const StatesHeader *found, const StatesHeader *own)
{
  if (memcmp(found->magic, own->magic, MAGIC_BYTES) != 0)
    return "it is no state of a cluster";
  if (found->version != own->version)
    return "another version of the emulator has written it; that version can read it";
  if (found->n_wafers != own->n_wafers || found->plan != own->plan)
    return "it is of another cluster: of other wafers or links";
  return NULL;
}

/* The table at the end of the file. */
static const char *read_table(ClusterStates *states, FILE *in)
{
  size_t n = states->header.n_wafers, bytes = n * sizeof *states->ends;
  uint32_t crc;
  uint64_t before = sizeof states->header;
  if (fseeko(in, -(off_t)(bytes + sizeof crc), SEEK_END) != 0)
    return "it is cut off";
  off_t table = ftello(in);
  if (fread(arraddnptr(states->ends, n), 1, bytes, in) != bytes ||
      fread(&crc, 1, sizeof crc, in) != sizeof crc)
    return "it cannot be read to its end";
  for (size_t i = 0; i < n; i++) {
    if (states->ends[i] <= before || states->ends[i] > (uint64_t)table)
      return "it is damaged or cut off";
    before = states->ends[i];
  }
  bool matches = crc == checksum(&states->header, states->ends);
  return matches ? NULL : "it is damaged: its checksum does not match";
}

static const char *read_states(ClusterStates *states, const char *path)
{
  StatesHeader found;
  FILE *in = fopen(path, "rb");
  if (!in)
    return strerror(errno);
  const char *wrong = fread(&found, 1, sizeof found, in) == sizeof found
                          ? check_header(&found, &states->header)
                          : "it is too short for a state of a cluster";
  if (!wrong) {
    states->header.cycle = found.cycle;
    wrong = read_table(states, in);
  }
  fclose(in);
  return wrong;
}

ClusterStates *cluster_states_create(const ClusterPlan *plan, const char *load, char **why)
{
  ClusterStates *states = base_zeroed(1, sizeof *states);
  memcpy(states->header.magic, STATE_CLUSTER_MAGIC, MAGIC_BYTES);
  states->header.version = STATES_VERSION;
  states->header.plan = cluster_plan_mark(plan);
  states->header.n_wafers = (uint32_t)arrlenu(plan->wafers);
  const char *wrong = load ? read_states(states, load) : NULL;
  if (!wrong)
    return states;
  *why = base_print("%s", wrong);
  cluster_states_destroy(states);
  return NULL;
}

void cluster_states_destroy(ClusterStates *states)
{
  if (!states)
    return;
  arrfree(states->ends);
  arrfree(states->recorders);
  free(states);
}

/* ---- wafers ---------------------------------------------------------------------------------- */

void cluster_states_add(ClusterStates *states, Engine *recorder)
{
  arrput(states->recorders, recorder);
}

Engine *const *cluster_states_recorders(const ClusterStates *states) { return states->recorders; }

StatePart cluster_states_next(const ClusterStates *states)
{
  size_t wafer = arrlenu(states->recorders);
  uint64_t begin = wafer ? states->ends[wafer - 1] : sizeof states->header;
  return (StatePart){begin, states->ends[wafer] - begin};
}

uint64_t cluster_states_cycle(const ClusterStates *states) { return states->header.cycle; }

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t latest_cycle(const ClusterStates *states)
{
  uint64_t latest = 0;
  for (size_t i = 0; i < arrlenu(states->recorders); i++) {
    uint64_t cycle = recorder_inner(states->recorders[i])->cycle;
    latest = cycle > latest ? cycle : latest;
  }
  return latest;
}

void cluster_states_write(const ClusterStates *states, FILE *out)
{
  StatesHeader header = states->header;
  uint64_t *ends = NULL;
  header.cycle = latest_cycle(states);
  fwrite(&header, 1, sizeof header, out);
  for (size_t i = 0; i < arrlenu(states->recorders); i++) {
    recorder_write(states->recorders[i], out);
    arrput(ends, (uint64_t)ftello(out));
  }
  uint32_t crc = checksum(&header, ends);
  fwrite(ends, sizeof *ends, arrlenu(ends), out);
  fwrite(&crc, 1, sizeof crc, out);
  arrfree(ends);
}
