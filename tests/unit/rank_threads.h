/* Processes of a run as threads of one: a transport without MPI, so that tests of emu/ranks run
 * everywhere.  Included by one .c file each. */
#ifndef RANK_THREADS_H
#define RANK_THREADS_H

#include "emu/ranks/ranks_internal.h"

#include <pthread.h>

#include <stb_ds.h>

enum { THREAD_RANKS = 8 };

/* What one thread has sent to another and not been asked for yet. */
typedef struct { unsigned char **messages; } Mailbox;       /* stb_ds of stb_ds, oldest first */

/* Each process waits at a condition of its own, and a sender wakes the receiver alone: short
 * programs do little else than exchange messages. */
static struct {
  pthread_mutex_t lock;
  struct { pthread_cond_t changed; bool waits; } ranks[THREAD_RANKS];
  Mailbox boxes[THREAD_RANKS][THREAD_RANKS][2];   /* from, to; of messages, of edges and gathers */
  PeerVote vote, result;
  unsigned voters, round;
  RankTransport transports[THREAD_RANKS];
  pthread_t threads[THREAD_RANKS];
  unsigned count;
} rank_threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local unsigned rank_number;

/* Both with the lock held. */
static void rank_wait(void)
{
  rank_threads.ranks[rank_number].waits = true;
  pthread_cond_wait(&rank_threads.ranks[rank_number].changed, &rank_threads.lock);
}

static bool rank_stops_waiting(unsigned number)
{
  bool waits = rank_threads.ranks[number].waits;
  rank_threads.ranks[number].waits = false;
  return waits;
}

enum { BOX_MESSAGE, BOX_PEER };

static void box_put(unsigned to, unsigned kind, const void *bytes, size_t n)
{
  unsigned char *copy = NULL;
  if (n)
    memcpy(arraddnptr(copy, n), bytes, n);
  else
    arrsetcap(copy, 1);
  pthread_mutex_lock(&rank_threads.lock);
  arrput(rank_threads.boxes[rank_number][to][kind].messages, copy);
  bool waits = rank_stops_waiting(to);
  pthread_mutex_unlock(&rank_threads.lock);
  if (waits)
    pthread_cond_signal(&rank_threads.ranks[to].changed);
}

static void box_take(unsigned from, unsigned kind, unsigned char **append_to)
{
  Mailbox *box = &rank_threads.boxes[from][rank_number][kind];
  pthread_mutex_lock(&rank_threads.lock);
  while (arrlenu(box->messages) == 0)
    rank_wait();
  unsigned char *message = box->messages[0];
  arrdel(box->messages, 0);
  pthread_mutex_unlock(&rank_threads.lock);
  if (arrlenu(message))
    memcpy(arraddnptr(*append_to, arrlenu(message)), message, arrlenu(message));
  arrfree(message);
}

static void thread_send(unsigned to, const void *bytes, size_t n)
{
  box_put(to, BOX_MESSAGE, bytes, n);
}

static void thread_receive(unsigned from, unsigned char **into)
{
  arrsetlen(*into, 0);
  box_take(from, BOX_MESSAGE, into);
}

static void thread_vote(PeerVote *vote)
{
  bool waits[THREAD_RANKS] = {false};
  pthread_mutex_lock(&rank_threads.lock);
  PeerVote *all = &rank_threads.vote;
  *all = rank_threads.voters == 0 ? *vote : rank_votes_combine(*all, *vote);
  unsigned round = rank_threads.round;
  if (++rank_threads.voters == rank_threads.count) {
    rank_threads.result = *all;
    rank_threads.voters = 0;
    rank_threads.round++;
    for (unsigned i = 0; i < rank_threads.count; i++)
      waits[i] = rank_stops_waiting(i);
  }
  while (rank_threads.round == round)
    rank_wait();
  *vote = rank_threads.result;
  pthread_mutex_unlock(&rank_threads.lock);
  for (unsigned i = 0; i < rank_threads.count; i++)
    if (waits[i])
      pthread_cond_signal(&rank_threads.ranks[i].changed);
}

static void thread_gather(const void *bytes, size_t n, bool spread, unsigned char **all)
{
  for (unsigned to = 0; to < (spread ? rank_threads.count : 1); to++)
    box_put(to, BOX_PEER, bytes, n);
  for (unsigned from = 0; (spread || rank_number == 0) && from < rank_threads.count; from++)
    box_take(from, BOX_PEER, all);
}

static void thread_swap(const int neighbours[2], unsigned char *const to[2],
                        unsigned char *from[2])
{
  for (unsigned i = 0; i < 2; i++)
    if (neighbours[i] >= 0)
      box_put((unsigned)neighbours[i], BOX_PEER, to[i], arrlenu(to[i]));
  for (unsigned i = 0; i < 2; i++) {
    arrsetlen(from[i], 0);
    if (neighbours[i] >= 0)
      box_take((unsigned)neighbours[i], BOX_PEER, &from[i]);
  }
}

static void thread_leave(void) {}

static void *thread_serve(void *argument)
{
  const RankTransport *transport = argument;
  rank_number = transport->number;
  ranks_use(transport);
  ranks_serve();
  return NULL;
}

/* This thread becomes process 0 of so many. */
static void rank_threads_start(unsigned count)
{
  rank_threads.count = count;
  for (unsigned i = 0; i < count; i++)
    pthread_cond_init(&rank_threads.ranks[i].changed, NULL);
  for (unsigned i = 0; i < count; i++) {
    rank_threads.transports[i] = (RankTransport){
      .number = i, .count = count, .send = thread_send, .receive = thread_receive,
      .vote = thread_vote, .gather = thread_gather, .swap = thread_swap, .leave = thread_leave};
    if (i && pthread_create(&rank_threads.threads[i], NULL, thread_serve,
                            &rank_threads.transports[i]) != 0)
      ICE("a thread cannot be started");
  }
  ranks_use(&rank_threads.transports[0]);
}

static void rank_threads_end(void)
{
  ranks_leave();
  for (unsigned i = 1; i < rank_threads.count; i++)
    pthread_join(rank_threads.threads[i], NULL);
  for (unsigned i = 0; i < rank_threads.count; i++)
    pthread_cond_destroy(&rank_threads.ranks[i].changed);
  for (unsigned i = 0; i < THREAD_RANKS; i++)
    for (unsigned k = 0; k < THREAD_RANKS; k++)
      for (unsigned kind = 0; kind < 2; kind++)
        arrfree(rank_threads.boxes[i][k][kind].messages);
}

#endif
