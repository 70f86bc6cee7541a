/* emu/ranks: how processes talk to each other.  One implementation is a module of its own,
 * transport_mpi.c: so a program on one process neither links nor loads MPI. */
#ifndef RANKS_TRANSPORT_H
#define RANKS_TRANSPORT_H

#include "emu/engine/engine.h"

typedef struct {
  unsigned number, count;       /* of this process, from 0; of all */
  /* In order between two processes. */
  void (*send)(unsigned to, const void *bytes, size_t n_bytes);
  /* Waits for the next one of the process; its bytes replace *into (stb_ds). */
  void (*receive)(unsigned from, unsigned char **into);
  /* As in Peers; `neighbours`: processes before and behind, or -1. */
  void (*vote)(PeerVote *vote);
  void (*gather)(const void *bytes, size_t n_bytes, bool spread, unsigned char **all);
  void (*swap)(const int neighbours[2], unsigned char *const to[2], unsigned char *from[2]);
  /* The last call of every process. */
  void (*leave)(void);
} RankTransport;

/* What two votes come to: PeerVote says how, member by member. */
static inline PeerVote rank_votes_combine(PeerVote a, PeerVote b)
{
  return (PeerVote){
    .due = a.due < b.due ? a.due : b.due,
    .block = a.block < b.block ? a.block : b.block,
    .last_awake = a.last_awake > b.last_awake ? a.last_awake : b.last_awake,
    .last_change = a.last_change > b.last_change ? a.last_change : b.last_change,
    .visits = a.visits + b.visits,
    .flags = a.flags | b.flags,
  };
}

/* The only name that a module exports: the transport, or NULL with a reason. */
typedef const RankTransport *RankTransportOpen(const char **reason);
RankTransportOpen wse_transport_open;
#define RANK_TRANSPORT_OPEN "wse_transport_open"

#endif
