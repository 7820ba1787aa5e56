// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// pool returns a valid pool, changed by the given functions.
func pool(name string, changes ...func(*kubernikusv1.NodePool)) kubernikusv1.NodePool {
	p := kubernikusv1.NodePool{Name: name, Flavor: "m1.small", AvailabilityZone: "az-1"}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func pools(pools ...kubernikusv1.NodePool) func(*kubernikusv1.KlusterSpec) {
	return func(s *kubernikusv1.KlusterSpec) { s.NodePools = pools }
}

func nodes(count int32) func(*kubernikusv1.NodePool) {
	return func(p *kubernikusv1.NodePool) { p.NodeCount = count }
}

func disk(size int32) func(*kubernikusv1.NodePool) {
	return func(p *kubernikusv1.NodePool) { p.CustomRootDiskSize = size }
}

func labels(labels ...string) func(*kubernikusv1.NodePool) {
	return func(p *kubernikusv1.NodePool) { p.Labels = labels }
}

func taints(taints ...string) func(*kubernikusv1.NodePool) {
	return func(p *kubernikusv1.NodePool) { p.Taints = taints }
}

func TestNodePools(t *testing.T) {
	many := make([]kubernikusv1.NodePool, 257)
	for i := range many {
		many[i] = pool(strconv.Itoa(i))
	}
	testCreate(t, []specCase{
		{"two pools", pools(pool("a"), pool("b")), nil},
		{"as many as may be", pools(many[:256]...), nil},
		{"too many", pools(many...), []string{"spec.nodePools: Too many"}},
		{"no name", pools(pool("")), []string{"spec.nodePools[0].name: Required value"}},
		{"starts with a digit, has dots", pools(pool("1.pool-x.")), nil},
		{"starts with a dash", pools(pool("-a")), []string{"spec.nodePools[0].name: Invalid value"}},
		{"upper case", pools(pool("Pool")), []string{"spec.nodePools[0].name: Invalid value"}},
		{"20 characters", pools(pool(strings.Repeat("a", 20))), nil},
		{"21 characters", pools(pool(strings.Repeat("a", 21))), []string{"spec.nodePools[0].name: Too long"}},
		{"the same name twice", pools(pool("a"), pool("a")), []string{"spec.nodePools[1]: Duplicate value"}},
		{"no flavor", pools(pool("a", func(p *kubernikusv1.NodePool) { p.Flavor = "" })), []string{"spec.nodePools[0].flavor: Required value"}},
		{"no zone", pools(pool("a", func(p *kubernikusv1.NodePool) { p.AvailabilityZone = "" })),
			[]string{"spec.nodePools[0].availabilityZone: Required value"}},
		{"127 nodes", pools(pool("a", nodes(127))), nil},
		{"128 nodes", pools(pool("a", nodes(128))), []string{"spec.nodePools[0].size: Invalid value: 128"}},
		{"-1 nodes", pools(pool("a", nodes(-1))), []string{"spec.nodePools[0].size: Invalid value: -1"}},
		{"smallest disk", pools(pool("a", disk(64))), nil},
		{"largest disk", pools(pool("a", disk(1024))), nil},
		{"disk too small", pools(pool("a", disk(63))), []string{"spec.nodePools[0].customRootDiskSize: Invalid value: 63"}},
		{"disk too large", pools(pool("a", disk(1025))), []string{"spec.nodePools[0].customRootDiskSize: Invalid value: 1025"}},
		{"labels", pools(pool("a", labels("a=b", "example.org/team=Storage_1.x", "empty="))), nil},
		{"label without a value", pools(pool("a", labels("a=b", "c"))), []string{`spec.nodePools[0].labels[1]: Invalid value: "c": must have the form key=value`}},
		{"label with a bad key", pools(pool("a", labels("a b=c"))), []string{`spec.nodePools[0].labels[0]: Invalid value: "a b=c"`}},
		{"label with a bad value", pools(pool("a", labels("a=b=c"))), []string{`spec.nodePools[0].labels[0]: Invalid value: "a=b=c"`}},
		{"label with bad key and value", pools(pool("a", labels("=-"))), []string{`spec.nodePools[0].labels[0]: Invalid value: "=-"`}},
		{"taints", pools(pool("a", taints("a=b:NoSchedule", "example.org/a=b:NoExecute", "c=:PreferNoSchedule"))), nil},
		{"taint without an effect", pools(pool("a", taints("a=b"))), []string{`spec.nodePools[0].taints[0]: Invalid value: "a=b": must have the form key=value:effect`}},
		{"taint without a value", pools(pool("a", taints("a:NoSchedule"))), []string{`spec.nodePools[0].taints[0]: Invalid value: "a:NoSchedule": must have the form`}},
		{"taint with an unknown effect", pools(pool("a", taints("a=b:noschedule"))),
			[]string{`spec.nodePools[0].taints[0]: Invalid value: "a=b:noschedule": the effect must be NoSchedule, PreferNoSchedule or NoExecute`}},
		{"taint with a bad key", pools(pool("a", taints("a b=c:NoSchedule"))), []string{`spec.nodePools[0].taints[0]: Invalid value: "a b=c:NoSchedule"`}},
	})
}

func TestNodePoolChange(t *testing.T) {
	bad := pool("Imported_Pool", nodes(2), labels("bad label"), taints("bad taint"))
	for _, test := range []struct {
		name          string
		before, after func(*kubernikusv1.KlusterSpec)
		want          []string
	}{
		{"scaled", pools(pool("a", nodes(1))), pools(pool("a", nodes(5), labels("a=b"), taints("a=b:NoExecute"), disk(100))), nil},
		{"added in front", pools(pool("a", nodes(1))), pools(pool("b", nodes(2)), pool("a", nodes(1))), nil},
		{"removed when empty", pools(pool("a"), pool("b", nodes(1))), pools(pool("b", nodes(1))), nil},
		{"removed with nodes", pools(pool("a", nodes(3)), pool("b", nodes(1))), pools(pool("b", nodes(1))),
			[]string{`spec.nodePools: Forbidden: pool "a" cannot be removed while its size is 3: set its size to 0 first`}},
		{"renamed with nodes", pools(pool("a", nodes(3))), pools(pool("b", nodes(3))),
			[]string{`spec.nodePools: Forbidden: pool "a" cannot be removed`}},
		{"all removed", pools(pool("a", nodes(3)), pool("b", nodes(1))), pools(),
			[]string{`spec.nodePools: Forbidden: pool "a"`, `spec.nodePools: Forbidden: pool "b"`}},
		{"other flavor", pools(pool("a")), pools(pool("a", func(p *kubernikusv1.NodePool) { p.Flavor = "m1.large" })),
			[]string{"spec.nodePools[0].flavor: Invalid value: null: field cannot be modified once set"}},
		{"other image", pools(pool("a")), pools(pool("a", func(p *kubernikusv1.NodePool) { p.Image = "ubuntu" })),
			[]string{"spec.nodePools[0].image: Invalid value: null: field cannot be modified once set"}},
		{"other zone", pools(pool("a")), pools(pool("a", func(p *kubernikusv1.NodePool) { p.AvailabilityZone = "az-2" })),
			[]string{"spec.nodePools[0].availabilityZone: Invalid value: null: field cannot be modified once set"}},
		{"other flavor in another place", pools(pool("a"), pool("b")), pools(pool("b"), pool("a", func(p *kubernikusv1.NodePool) { p.Flavor = "m1.large" })),
			[]string{"spec.nodePools[1].flavor: Invalid value"}},
		{"an imported pool can be emptied", pools(bad), pools(func() kubernikusv1.NodePool { p := bad; p.NodeCount = 0; return p }()), nil},
		{"a bad label is not added", pools(pool("a")), pools(pool("a", labels("bad label"))), []string{"spec.nodePools[0].labels[0]: Invalid value"}},
		{"a bad taint is not added", pools(pool("a")), pools(pool("a", taints("bad taint"))), []string{"spec.nodePools[0].taints[0]: Invalid value"}},
		{"a bad pool is not added", pools(), pools(pool("-")), []string{"spec.nodePools[0].name: Invalid value"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, newRules(t).update(kluster(with(test.after)), kluster(with(test.before))), test.want...)
		})
	}
}
