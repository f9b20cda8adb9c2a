package tests

import (
	"net/netip"
	"slices"
	"testing"
)

type networkPolicy struct {
	Spec struct {
		PodSelector selector `json:"podSelector"`
		PolicyTypes []string `json:"policyTypes"`
		Ingress     []any    `json:"ingress"`
		Egress      []rule   `json:"egress"`
	} `json:"spec"`
}

type rule struct {
	To []struct {
		IPBlock struct {
			CIDR   string   `json:"cidr"`
			Except []string `json:"except"`
		} `json:"ipBlock"`
	} `json:"to"`
	Ports []struct {
		Protocol string `json:"protocol"`
		Port     int    `json:"port"`
	} `json:"ports"`
}

// allows reports whether the policy lets a pod send to that address and port.
func (p networkPolicy) allows(address, protocol string, port int) bool {
	for _, r := range p.Spec.Egress {
		for _, rp := range r.Ports {
			if rp.Protocol == protocol && rp.Port == port && r.reaches(netip.MustParseAddr(address)) {
				return true
			}
		}
	}
	return false
}

func (r rule) reaches(address netip.Addr) bool {
	for _, to := range r.To {
		if to.IPBlock.CIDR == "" || !netip.MustParsePrefix(to.IPBlock.CIDR).Contains(address) {
			continue
		}
		if !slices.ContainsFunc(to.IPBlock.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(address) }) {
			return true
		}
	}
	return len(r.To) == 0
}

func TestWorkersReachWhatTheyNeedAndNothingElse(t *testing.T) {
	for _, o := range overlays(t) {
		policy, ok := of[networkPolicy](t, o, "NetworkPolicy")["fourfold-worker"]
		if !ok {
			t.Errorf("%s: no network policy for the workers", o.name)
			continue
		}
		if !slices.Equal(policy.Spec.PolicyTypes, []string{"Ingress", "Egress"}) || len(policy.Spec.Ingress) != 0 {
			t.Errorf("%s: types %v, %d rules for ingress: nothing may call a worker", o.name, policy.Spec.PolicyTypes, len(policy.Spec.Ingress))
		}
		for class, w := range workers(t, o) {
			if !matches(policy.Spec.PodSelector, w.Spec.Template.Metadata.Labels) {
				t.Errorf("%s: the network policy leaves out %s", o.name, class)
			}
		}
		for _, c := range []struct {
			what, address, protocol string
			port                    int
			want                    bool
		}{
			{"a provider", "203.0.113.7", "TCP", 443, true},
			{"a provider by IPv6", "2001:db8::7", "TCP", 443, true},
			{"a provider without TLS", "203.0.113.7", "TCP", 80, false},
			{"the metadata address", "169.254.169.254", "TCP", 443, false},
			{"the metadata address, unencrypted", "169.254.169.254", "TCP", 80, false},
			{"the metadata address by IPv6", "fd00:ec2::254", "TCP", 443, false},
			{"Redis in a private network", "10.96.4.4", "TCP", 6379, true},
			{"Redis on the internet", "203.0.113.7", "TCP", 6379, false},
			{"DogStatsD on the node", "192.168.10.20", "UDP", 8125, true},
			{"DogStatsD on a public node", "203.0.113.7", "UDP", 8125, true},
			{"the node's DNS cache", "169.254.20.10", "UDP", 53, true},
			{"a stranger's DNS", "203.0.113.7", "UDP", 53, false},
			{"the kubelet", "192.168.10.20", "TCP", 10250, false},
		} {
			if got := policy.allows(c.address, c.protocol, c.port); got != c.want {
				t.Errorf("%s: %s (%s %s %d): allowed %v, want %v", o.name, c.what, c.address, c.protocol, c.port, got, c.want)
			}
		}
	}
}
