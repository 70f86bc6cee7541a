/* Ranks: the processes of a run, and what an engine asks of them. */
#include "emu/ranks/ranks_internal.h"
#include "ir/base/platform.h"

#include <stdlib.h>

#include <stb_ds.h>

/* ---- joining ------------------------------------------------------------------------------ */

static const RankTransport *transport;
/* Instead of it, for a thread that stands for a process in a test. */
static _Thread_local const RankTransport *of_thread;

const RankTransport *ranks_transport(void) { return of_thread ? of_thread : transport; }

void ranks_use(const RankTransport *other) { of_thread = other; }

unsigned ranks_count(void)
{
  const RankTransport *own = ranks_transport();
  return own ? own->count : 1;
}

/* Variables by which starters of processes say that there are several. */
static bool is_started_by_mpi(void)
{
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
  for (size_t i = 0; i < ARRAY_COUNT(names); i++)
    if (getenv(names[i]))
      return true;
  return false;
}

/* A process that this one starts is not another one of the run. */
static const char taken_name[] = "WSE_RANKS_TAKEN";

RanksRole ranks_join(const char **reason)
{
  if (transport || !is_started_by_mpi() || getenv(taken_name))
    return transport ? RANKS_FIRST : RANKS_ALONE;
  RankTransportOpen *open = NULL;
  *(void **)&open = platform_module_symbol("wse-mpi.so", RANK_TRANSPORT_OPEN);
  if (!open) {
    *reason = "this build has no support for MPI";
    return RANKS_BROKEN;
  }
  const RankTransport *found = open(reason);
  if (!found)
    return RANKS_BROKEN;
  setenv(taken_name, "1", true);
  if (found->count == 1) {
    found->leave();
    return RANKS_ALONE;
  }
  transport = found;
  if (transport->number > 0)
    return RANKS_SERVANT;
  atexit(ranks_leave);          /* however process 0 ends in order, the others end with it */
  return RANKS_FIRST;
}

void ranks_leave(void)
{
  const RankTransport *own = ranks_transport();
  unsigned char *message = NULL;
  if (!own)
    return;
  ask_put(&message, (Ask){.kind = ASK_LEAVE}, NULL);
  for (unsigned i = 1; own->number == 0 && i < own->count; i++)
    own->send(i, message, arrlenu(message));
  arrfree(message);
  own->leave();
  if (own == of_thread)
    of_thread = NULL;
  else
    transport = NULL;
}

/* ---- the rows of each process ------------------------------------------------------------- */

static uint64_t row_weight(const Program *program, uint32_t row)
{
  uint64_t weight = 1;          /* routers alone are some work */
  for (uint32_t x = 0; x < program->image->width; x++)
    weight += program_class(program, program_tile(program, x, row)) != NULL;
  return weight;
}

/* A tile of a lone row would have both neighbours in other processes, and what one of them sends
 * would not be known to the other one in the next cycle (emu/fast/edges.c). */
enum { LEAST_ROWS = 2 };

uint32_t *rank_cuts_make(const Program *program)
{
  uint32_t height = program->image->height, *cuts = NULL;
  uint64_t all = 0, before = 0;
  for (uint32_t row = 0; row < height; row++)
    all += row_weight(program, row);
  arrput(cuts, 0);
  for (uint32_t row = 0; row < height; row++) {
    before += row_weight(program, row);
    size_t n = arrlenu(cuts), left = ranks_count() - n;
    uint32_t rest = height - row - 1;
    bool may_end = left && row + 1 - cuts[n - 1] >= LEAST_ROWS && rest >= LEAST_ROWS;
    /* The process ends behind this row if it has its share, or if the others need all the rest. */
    if (may_end && (before * ranks_count() >= all * n || rest <= LEAST_ROWS * left))
      arrput(cuts, row + 1);
  }
  while (arrlenu(cuts) <= ranks_count())
    arrput(cuts, height);
  cuts[ranks_count()] = height;
  return cuts;
}

/* ---- peers of an engine ------------------------------------------------------------------- */

static void vote_with_all(Peers *peers, PeerVote *vote)
{
  (void)peers;
  ranks_transport()->vote(vote);
}

static void gather_from_all(Peers *peers, const void *bytes, size_t n_bytes, bool spread,
                            unsigned char **all)
{
  (void)peers;
  ranks_transport()->gather(bytes, n_bytes, spread, all);
}

static void swap_with_neighbours(Peers *peers, unsigned char *const to[2], unsigned char *from[2])
{
  const RankPeers *own = (const RankPeers *)peers;
  ranks_transport()->swap(own->neighbours, to, from);
}

static void note_sent(Peers *peers, uint32_t tile)
{
  arrput(((RankPeers *)peers)->sent, tile);
}

void rank_peers_init(RankPeers *peers, const uint32_t *cuts)
{
  unsigned number = ranks_transport()->number;
  uint32_t first = cuts[number], end = cuts[number + 1];
  *peers = (RankPeers){
    .peers = {.number = number, .count = ranks_count(), .first_row = first, .end_row = end,
              .vote = vote_with_all, .gather = gather_from_all, .swap = swap_with_neighbours,
              .sent = note_sent},
    .neighbours = {first > 0 && first < end ? (int)number - 1 : -1,
                   end < cuts[ranks_count()] && first < end ? (int)number + 1 : -1},
  };
}

void rank_peers_free(RankPeers *peers) { arrfree(peers->sent); }
