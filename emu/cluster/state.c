/* What links have carried, and what waits in them. */
#include "emu/cluster/cluster_internal.h"

#include <stb_ds.h>

static json_t *direction_json(const Cluster *c, const ClusterLink *link, unsigned from)
{
  const ClusterEnd *end = &link->ends[from];
  const ClusterFabric *fabric = &c->fabrics[end->wafer];
  const LinkGate *gate = links_gate(&fabric->links, cluster_tile(fabric->program, end), end->edge);
  const LinkFlow *flow = &gate->flow;
  /* A link that sends a word at once and then at its full rate is used fully. */
  double most = (double)(flow->last_out - flow->first_out) * gate->rate_num / gate->rate_den + 1;
  json_t *one = json_object();
  json_object_set_new(one, "words", json_integer((json_int_t)flow->words_out));
  json_object_set_new(one, "first", json_integer((json_int_t)flow->first_out));
  json_object_set_new(one, "last", json_integer((json_int_t)flow->last_out));
  json_object_set_new(one, "utilisation",
                      json_real((double)flow->words_out / most));
  return one;
}

json_t *cluster_links_json(const Cluster *c)
{
  json_t *links = json_object();
  for (size_t i = 0; i < arrlenu(c->plan->links); i++) {
    const ClusterLink *link = &c->plan->links[i];
    json_t *one = json_object();
    json_object_set_new(one, "forward", direction_json(c, link, 0));
    json_object_set_new(one, "backward", direction_json(c, link, 1));
    json_object_set_new(links, link->name, one);
  }
  return links;
}

static void print_end(const Cluster *c, const ClusterLink *link, const ClusterChannel *channel,
                      unsigned end, FILE *out)
{
  const ClusterEnd *place = &link->ends[end];
  const Program *program = c->fabrics[place->wafer].program;
  uint32_t tile = cluster_tile(program, place);
  fprintf(out, "wafer %s P%u.%u color %u", c->plan->wafers[place->wafer].name,
          program_x(program, tile), program_y(program, tile), channel->colors[end]);
}

bool cluster_report_links(const Cluster *c, const char *before, FILE *out)
{
  bool any = false;
  for (size_t i = 0; i < arrlenu(c->plan->links); i++) {
    const ClusterLink *link = &c->plan->links[i];
    for (size_t k = 0; k < arrlenu(link->channels); k++) {
      const ClusterChannel *channel = &link->channels[k];
      const LinkIn *in = cluster_in(c, link, channel);
      size_t waiting = arrlenu(in->coming) - in->at;
      if (!waiting)
        continue;
      any = true;
      fprintf(out, "%slink %s: %zu word%s of ", before, link->name, waiting,
              waiting == 1 ? "" : "s");
      print_end(c, link, channel, channel->from, out);
      fprintf(out, " wait%s to enter ", waiting == 1 ? "s" : "");
      print_end(c, link, channel, !channel->from, out);
      fprintf(out, ", whose router takes no more%s\n",
              cluster_out(c, link, channel)->refused ? "; the sender waits for room" : "");
    }
  }
  return any;
}
