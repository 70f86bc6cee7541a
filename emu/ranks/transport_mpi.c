/* Ranks: the transport over MPI, a module of its own (see transport.h).  One thread of a
 * process calls it at a time.  MPI ends all processes if one of them fails. */
#include "emu/ranks/transport.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#include <mpi.h>
#include <stb_ds.h>

enum { TAG_MESSAGE = 1, TAG_EDGE = 2, TAG_GATHER = 3 };

static RankTransport transport;
static MPI_Op vote_operation;
static MPI_Datatype vote_type;

/* Counts of MPI are ints: longer messages go in parts, of which only the last is shorter. */
enum { PART_BYTES = 1 << 28 };

static void send_parts(unsigned to, int tag, const void *bytes, size_t n_bytes)
{
  const char *at = bytes;
  for (; n_bytes >= PART_BYTES; at += PART_BYTES, n_bytes -= PART_BYTES)
    MPI_Send(at, PART_BYTES, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD);
  MPI_Send(at, (int)n_bytes, MPI_BYTE, (int)to, tag, MPI_COMM_WORLD);
}

/* MPI waits by asking all the time, which takes a core from whatever else runs on the machine.  So
 * a process that waits asks often only for a moment; then it sleeps between, the longer the longer
 * it has waited. */
enum { POLLS = 4000, SLEEP_LEAST_NS = 10000, SLEEP_MOST_NS = 500000 };

static void wait_a_moment(unsigned *polls, long *sleep_ns)
{
  if (++*polls < POLLS)
    return;
  nanosleep(&(struct timespec){0, *sleep_ns}, NULL);
  *sleep_ns = *sleep_ns < SLEEP_MOST_NS ? *sleep_ns + *sleep_ns / 8 : SLEEP_MOST_NS;
}

static void wait_for(MPI_Request *requests, int n)
{
  unsigned polls = 0;
  long sleep_ns = SLEEP_LEAST_NS;
  for (int done = 0; MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE), !done;)
    wait_a_moment(&polls, &sleep_ns);
}

/* Appends the message that comes; returns its bytes. */
static size_t receive_part(int from, int tag, unsigned char **into)
{
  MPI_Message message;
  MPI_Status status;
  unsigned polls = 0;
  long sleep_ns = SLEEP_LEAST_NS;
  int n, found = 0;
  while (MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, &message, &status), !found)
    wait_a_moment(&polls, &sleep_ns);
  MPI_Get_count(&status, MPI_BYTE, &n);
  unsigned char nothing, *to = n ? arraddnptr(*into, (size_t)n) : &nothing;
  MPI_Mrecv(to, n, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  return (size_t)n;
}

static void receive_parts(unsigned from, int tag, unsigned char **into)
{
  while (receive_part((int)from, tag, into) == PART_BYTES)
    continue;
}

static void mpi_send(unsigned to, const void *bytes, size_t n_bytes)
{
  send_parts(to, TAG_MESSAGE, bytes, n_bytes);
}

static void mpi_receive(unsigned from, unsigned char **into)
{
  arrsetlen(*into, 0);
  receive_parts(from, TAG_MESSAGE, into);
}

static void combine_votes(void *from, void *into, int *count, MPI_Datatype *type)
{
  const PeerVote *votes = from;
  PeerVote *sums = into;
  (void)type;
  for (int i = 0; i < *count; i++)
    sums[i] = rank_votes_combine(votes[i], sums[i]);
}

static void mpi_vote(PeerVote *vote)
{
  PeerVote own = *vote;
  MPI_Request request;
  MPI_Iallreduce(&own, vote, 1, vote_type, vote_operation, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
}

static void append(unsigned char **all, const void *bytes, size_t n_bytes)
{
  if (n_bytes)
    memcpy(arraddnptr(*all, n_bytes), bytes, n_bytes);
}

/* Mostly no process has anything. */
static void mpi_gather(const void *bytes, size_t n_bytes, bool spread, unsigned char **all)
{
  uint64_t own = n_bytes, most = 0;
  MPI_Request request;
  MPI_Iallreduce(&own, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, &request);
  wait_for(&request, 1);
  if (!most)
    return;
  if (transport.number > 0) {
    send_parts(0, TAG_GATHER, bytes, n_bytes);
  } else {
    append(all, bytes, n_bytes);
    for (unsigned i = 1; i < transport.count; i++)
      receive_parts(i, TAG_GATHER, all);
  }
  for (unsigned i = 1; spread && transport.number == 0 && i < transport.count; i++)
    send_parts(i, TAG_GATHER, *all, arrlenu(*all));
  if (spread && transport.number > 0)
    receive_parts(0, TAG_GATHER, all);
}

/* What crosses an edge in a cycle is far below PART_BYTES: at most a few hundred bytes per tile of
 * a row. */
static void mpi_swap(const int neighbours[2], unsigned char *const to[2], unsigned char *from[2])
{
  MPI_Request requests[2];
  int n = 0;
  for (unsigned i = 0; i < 2; i++)
    if (neighbours[i] >= 0)
      MPI_Isend(to[i], (int)arrlenu(to[i]), MPI_BYTE, neighbours[i], TAG_EDGE, MPI_COMM_WORLD,
                &requests[n++]);
  for (unsigned i = 0; i < 2; i++) {
    arrsetlen(from[i], 0);
    if (neighbours[i] >= 0)
      receive_part(neighbours[i], TAG_EDGE, &from[i]);
  }
  wait_for(requests, n);
}

static void mpi_leave(void)
{
  MPI_Type_free(&vote_type);
  MPI_Op_free(&vote_operation);
  MPI_Finalize();
}

const RankTransport *wse_transport_open(const char **reason)
{
  int provided, number, count;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    *reason = "MPI does not start, or does not work beside threads";
    return NULL;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Type_contiguous((int)sizeof(PeerVote), MPI_BYTE, &vote_type);
  MPI_Type_commit(&vote_type);
  MPI_Op_create(combine_votes, 1, &vote_operation);
  transport = (RankTransport){
    .number = (unsigned)number, .count = (unsigned)count, .send = mpi_send,
    .receive = mpi_receive, .vote = mpi_vote, .gather = mpi_gather, .swap = mpi_swap,
    .leave = mpi_leave,
  };
  return &transport;
}
