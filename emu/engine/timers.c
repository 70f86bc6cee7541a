/* Timers: a heap of tiles by the cycle that they wait for. */
#include "emu/engine/engine.h"

#include "stb_ds.h"

static bool timer_before(Timer a, Timer b)
{
  return a.cycle != b.cycle ? a.cycle < b.cycle : a.tile < b.tile;
}

void timers_push(Timer **timers, Timer timer)
{
  arrput(*timers, timer);
  Timer *heap = *timers;
  size_t i = arrlenu(heap) - 1;
  for (; i > 0 && timer_before(timer, heap[(i - 1) / 2]); i = (i - 1) / 2)
    heap[i] = heap[(i - 1) / 2];
  heap[i] = timer;
}

Timer timers_pop(Timer *heap)
{
  Timer top = heap[0], last = arrpop(heap);
  size_t n = arrlenu(heap), i = 0;
  for (size_t child = 1; child < n; child = 2 * i + 1) {
    if (child + 1 < n && timer_before(heap[child + 1], heap[child]))
      child++;
    if (!timer_before(heap[child], last))
      break;
    heap[i] = heap[child];
    i = child;
  }
  if (n)
    heap[i] = last;
  return top;
}
