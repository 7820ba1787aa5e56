// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// newHole accepts connections, and never responds. It returns its address.
func newHole(t *testing.T) string {
	t.Helper()
	hole, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hole.Close() })
	go func() {
		var open []net.Conn
		for {
			connection, err := hole.Accept()
			if err != nil {
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
			open = append(open, connection)
		}
	}()
	return hole.Addr().String()
}

// stuckConfig has one worker, so that whatever holds a worker blocks all.
var stuckConfig = strings.Replace(deorbitConfig, "enabled: true", "enabled: true\n    concurrentSyncs: 1", 1)

// TestDeorbitAmongStuckOnes checks that ten clusters whose API servers accept connections and never respond, and ten whose cloud
// does the same, do not delay the deletion of another cluster.
func TestDeorbitAmongStuckOnes(t *testing.T) {
	rare(t)
	t.Parallel()
	d := newDescent(t)
	if err := d.Managers[0].Restart(t.Context(), "--config="+write(t, stuckConfig)); err != nil {
		t.Fatal(err)
	}
	hole := newHole(t)
	deaf := map[string][]byte{"kubeconfig": kubeconfigTo("https://"+hole, d.CA()), "clouds.yaml": d.secret.Data["clouds.yaml"]}
	lost := map[string][]byte{"clouds.yaml": []byte(strings.ReplaceAll(string(d.secret.Data["clouds.yaml"]), d.cloud.AuthURL(), "http://"+hole+"/identity/v3"))}
	const each = 10
	stages := map[*kubernikusv1.Kluster]kubernikusv1.DeorbitStage{}
	for i := range each {
		// The first kind is stuck inside the cluster, for longer than anybody waits. The second one has none, and is left
		// alone with its cloud.
		stages[d.stuck(t, fmt.Sprint("deaf-", i), 101+i, deaf, time.Hour)] = kubernikusv1.DeorbitFreeze
		stages[d.stuck(t, fmt.Sprint("lost-", i), 151+i, lost, time.Second)] = kubernikusv1.DeorbitVerify
	}
	still := func(ctx context.Context) error {
		for k, stage := range stages {
			if err := d.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
				return err
			}
			if at := k.Status.Deorbit; at == nil || at.Stage != stage || !k.HasDeorbiter() {
				return fmt.Errorf("%s is in %+v, want %s", k.Name, at, stage)
			}
		}
		return nil
	}
	eventually(t, still)
	d.remove(t)
	d.is(t, d.k, kubernikusv1.ConditionDeorbited, "True/Leftovers")
	if err := still(t.Context()); err != nil {
		t.Error(err)
	}
	d.landed(t)
	// Nor does a check that blocks delay an annotation.
	var ended []client.Object
	for k := range stages {
		d.edit(t, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, kubernikusv1.DetachAnnotation, "true") })
		ended = append(ended, k)
	}
	for _, k := range ended {
		eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, k) })
	}
}

// stuck registers a Kluster that blocks, and deletes it.
func (d *descent) stuck(t *testing.T, name string, number int, data map[string][]byte, unavailable time.Duration) *kubernikusv1.Kluster {
	t.Helper()
	k := klusterIn(d.namespace, name, "1.36.3")
	k.Spec.ClusterCIDR = new(fmt.Sprintf("100.%d.0.0/16", number))
	k.Spec.Deorbit.StageTimeout, k.Spec.Deorbit.APIUnavailableTimeout = &metav1.Duration{Duration: time.Hour}, &metav1.Duration{Duration: unavailable}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name + "-secret"}, Data: data}
	for _, object := range []client.Object{secret, k} {
		if err := d.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := confirm(t.Context(), d.c, k); err != nil {
		t.Fatal(err)
	}
	if err := d.c.Delete(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	return k
}
