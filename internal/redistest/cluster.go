package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is the number of hash slots of a Redis cluster.
const slots = 16384

// Cluster is a running Redis cluster of masters without replicas.
type Cluster struct {
	Nodes []*Server // the slots are spread evenly, in this order
}

// StartCluster runs masters that share all slots until the test ends. It returns when each of them says that the cluster
// is whole. The options go to every node; with TLS all nodes have one certificate.
func StartCluster(tb TB, masters int, options ...Option) *Cluster {
	tb.Helper()
	c := &Cluster{}
	for range masters {
		s := &Server{tb: tb, config: config{dir: newDir(tb), cluster: true}}
		if len(c.Nodes) > 0 {
			s.config.certs = c.Nodes[0].config.certs
		}
		for _, option := range options {
			if err := option(&s.config); err != nil {
				tb.Fatalf("redistest: option: %v", err)
			}
		}
		tb.Cleanup(func() { s.end(syscall.SIGKILL) })
		s.startOnHeldPort()
		c.Nodes = append(c.Nodes, s)
	}
	c.assemble(tb)
	return c
}

// assemble hands out the slots, makes the nodes meet, and waits until each sees the whole.
func (c *Cluster) assemble(tb TB) {
	tb.Helper()
	ctx := context.Background()
	for i, node := range c.Nodes {
		rdb := node.Admin(tb)
		first, last := i*slots/len(c.Nodes), (i+1)*slots/len(c.Nodes)-1
		if err := rdb.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
			tb.Fatalf("redistest: slots: %v", err)
		}
		if err := rdb.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			tb.Fatalf("redistest: epoch: %v", err)
		}
	}
	for _, node := range c.Nodes[1:] {
		host, port, err := net.SplitHostPort(node.Addr)
		if err != nil {
			tb.Fatalf("redistest: %v", err)
		}
		if err := c.Nodes[0].Admin(tb).ClusterMeet(ctx, host, port).Err(); err != nil {
			tb.Fatalf("redistest: meet: %v", err)
		}
	}
	for _, node := range c.Nodes {
		node.awaitWhole(tb, len(c.Nodes))
	}
	for _, node := range c.Nodes { // short until here, since nodes gossip at its pace; a busy machine must not part them now
		if err := node.Admin(tb).ConfigSet(ctx, "cluster-node-timeout", "600000").Err(); err != nil {
			tb.Fatalf("redistest: node timeout: %v", err)
		}
	}
}

// awaitWhole polls: the nodes gossip, and none of them tells when it is done.
func (s *Server) awaitWhole(tb TB, masters int) {
	tb.Helper()
	rdb := s.Admin(tb)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		info, err := rdb.ClusterInfo(context.Background()).Result()
		if err != nil {
			tb.Fatalf("redistest: cluster info: %v", err)
		}
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprint("cluster_size:", masters, "\r\n")) {
			return
		}
	}
}

// Addrs are the addresses of all nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// Options returns fresh client options for the cluster.
func (c *Cluster) Options() *redis.ClusterOptions {
	o := c.Nodes[0].Options()
	return &redis.ClusterOptions{Addrs: c.Addrs(), Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig}
}

// CAFile is the certificate that signs the nodes' own, with TLS.
func (c *Cluster) CAFile() string { return c.Nodes[0].CAFile() }

// Client returns a client that is closed when the test ends.
func (c *Cluster) Client(tb TB) *redis.ClusterClient {
	rdb := redis.NewClusterClient(c.Options())
	tb.Cleanup(func() { _ = rdb.Close() }) // fails only when the test has closed it
	return rdb
}

// As returns a client of one of Users, closed when the test ends.
func (c *Cluster) As(tb TB, user, password string) *redis.ClusterClient {
	o := c.Options()
	o.Username, o.Password = user, password
	rdb := redis.NewClusterClient(o)
	tb.Cleanup(func() { rdb.Close() })
	return rdb
}

// Flush empties every node.
func (c *Cluster) Flush(tb TB) {
	tb.Helper()
	for _, node := range c.Nodes {
		if err := node.Admin(tb).FlushAll(context.Background()).Err(); err != nil {
			tb.Fatalf("redistest: flush: %v", err)
		}
	}
}
