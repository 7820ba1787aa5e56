// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/linearizability"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/plane/faults"
)

// Clients create, change, apply, confirm and delete Projects that compete for a namespace, over two API servers and three members
// of etcd, while these are killed and paused and responses are lost. There is an order that explains all responses. No manager
// runs: what a Project is reserved for is the subject, not its namespace.
func TestSoakLinearizable(t *testing.T) {
	rare(t)
	if err := plane.CanSpread(); err != nil {
		t.Skip(err)
	}
	h := &ha{t: t, Plane: startPlane(t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), APIServers: 2, Spread: true, EtcdMembers: 3,
	})}
	h.client = clientOf(t, h.Config())
	proxy, err := faults.New(h.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := proxy.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	for round := range (rounds(t, 1) + 99) / 100 { // one takes as long as a hundred of other tests
		for _, episode := range []struct {
			name string
			do   func(t *testing.T)
		}{
			{"nothing", func(*testing.T) {}},
			{"API server 0 is killed", func(t *testing.T) { kill(t, h.APIServers[0]) }},
			{"API server 1 is killed", func(t *testing.T) { kill(t, h.APIServers[1]) }},
			{"API server 0 is paused", func(t *testing.T) { pause(t, h.APIServers[0]) }},
			{"etcd's leader is killed", func(t *testing.T) { kill(t, h.etcdLeader(t)) }},
			{"etcd's leader is paused", func(t *testing.T) { pause(t, h.etcdLeader(t)) }},
			{"responses are lost", func(t *testing.T) {
				var mu sync.Mutex
				var writes int
				end := proxy.Fail(faults.ResponseLost, func(r *faults.Request) bool {
					mu.Lock()
					defer mu.Unlock()
					if r.Resource != "projects" || r.Verb == "get" {
						return false
					}
					writes++
					return writes%9 == 0
				}, 0, -1)
				t.Cleanup(end)
			}},
		} {
			t.Run(fmt.Sprintf("%s/%d", episode.name, round), func(t *testing.T) {
				var groups []*rivals
				for i := range 3 {
					groups = append(groups, newRivals(t, config, name(t, fmt.Sprint("rival", i))))
				}
				ctx, end := context.WithCancel(t.Context())
				var clients sync.WaitGroup
				for _, group := range groups {
					for client := range 3 {
						clients.Go(func() { group.work(ctx, client) })
					}
				}
				episode.do(t)
				for _, group := range groups {
					group.continues(60)
				}
				end()
				clients.Wait()
				for _, group := range groups {
					t.Log(group.history.Results())
					if err := group.history.Check(2 * time.Minute); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func kill(t *testing.T, process *plane.Process) {
	t.Helper()
	if err := process.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	restart(t, process)
}

// pause stops a process for longer than the election of a leader of etcd takes, and continues it.
func pause(t *testing.T, process *plane.Process) {
	t.Helper()
	if err := syscall.Kill(process.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * time.Second)
	if err := syscall.Kill(process.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// rivals are Projects that want one namespace.
type rivals struct {
	t       *testing.T
	client  rest.Interface
	history *linearizability.History
	name    string
	// responses counts those with a known result.
	responses atomic.Int64
}

func newRivals(t *testing.T, config *rest.Config, name string) *rivals {
	t.Helper()
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &rivals{t: t, client: client.GardenerV1beta1().RESTClient(), history: linearizability.NewHistory(), name: name}
}

// continues waits for so many further responses.
func (r *rivals) continues(responses int64) {
	r.t.Helper()
	wanted := r.responses.Load() + responses
	eventually(r.t, func(context.Context) error {
		if got := r.responses.Load(); got < wanted && !r.t.Failed() {
			return fmt.Errorf("%d more responses expected", wanted-got)
		}
		return nil
	})
}

// work makes random requests until ctx is done, each about what the client has seen last.
func (r *rivals) work(ctx context.Context, client int) {
	var seen [linearizability.MaxObjects]linearizability.Object
	verbs := []linearizability.Verb{
		linearizability.Create, linearizability.Update, linearizability.Apply, linearizability.Confirm, linearizability.Confirm,
		linearizability.Revoke, linearizability.Delete, linearizability.Delete, linearizability.Finish, linearizability.Get,
	}
	for i := 0; ctx.Err() == nil && !r.t.Failed(); i++ {
		request := linearizability.Request{
			Verb: verbs[rand.IntN(len(verbs))], Object: rand.IntN(linearizability.MaxObjects), Value: fmt.Sprintf("%d-%d", client, i),
		}
		last := seen[request.Object]
		switch request.Verb {
		case linearizability.Update:
			request.UID, request.Version = last.UID, last.Version
		case linearizability.Delete, linearizability.Finish:
			request.UID = last.UID
		}
		if request.Verb == linearizability.Update && !last.Exists {
			continue
		}
		response := r.history.Do(client, request, func(request linearizability.Request) linearizability.Response {
			return r.do(request, last)
		})
		if response.Result != linearizability.Unknown {
			r.responses.Add(1)
		}
		switch response.Result {
		case linearizability.OK:
			seen[request.Object] = response.Object
		case linearizability.NotFound, linearizability.Conflict:
			seen[request.Object] = linearizability.Object{}
		}
	}
}

// do makes one request, which the client does not repeat automatically. last is what the client has seen of the object.
func (r *rivals) do(request linearizability.Request, last linearizability.Object) linearizability.Response {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	object := fmt.Sprintf("%s-%d", r.name, request.Object)
	project := &gardenerv1beta1.Project{
		TypeMeta:   metav1.TypeMeta{APIVersion: "core.gardener.cloud/v1beta1", Kind: "Project"},
		ObjectMeta: metav1.ObjectMeta{Name: object, UID: types.UID(request.UID), ResourceVersion: request.Version},
		Spec:       gardenerv1beta1.ProjectSpec{Namespace: new("garden-" + r.name), Description: new(request.Value)},
	}
	patch := func(metadata map[string]any) *rest.Request {
		if request.UID != "" {
			metadata["uid"] = request.UID
		}
		return r.client.Patch(types.MergePatchType).Resource("projects").Name(object).Body(r.json(map[string]any{"metadata": metadata}))
	}
	confirmation := func(value any) map[string]any {
		return map[string]any{"annotations": map[string]any{gardenerv1beta1.AnnotationConfirmDeletion: value}}
	}
	var call *rest.Request
	switch request.Verb {
	case linearizability.Create:
		call = r.client.Post().Resource("projects").Body(r.json(project))
	case linearizability.Update:
		if last.Confirmed {
			project.Annotations = map[string]string{gardenerv1beta1.AnnotationConfirmDeletion: "true"}
		}
		project.Finalizers = []string{gardenerv1beta1.FinalizerName}
		call = r.client.Put().Resource("projects").Name(object).Body(r.json(project))
	case linearizability.Apply:
		call = r.client.Patch(types.ApplyPatchType).Resource("projects").Name(object).Param("fieldManager", "rival").Param("force", "true").Body(r.json(project))
	case linearizability.Confirm:
		call = patch(confirmation("true"))
	case linearizability.Revoke:
		call = patch(confirmation(nil))
	case linearizability.Finish:
		call = patch(map[string]any{"finalizers": nil})
	case linearizability.Delete:
		options := &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
		if request.UID != "" {
			options.Preconditions = &metav1.Preconditions{UID: &project.UID}
		}
		call = r.client.Delete().Resource("projects").Name(object).Body(r.json(options))
	case linearizability.Get:
		call = r.client.Get().Resource("projects").Name(object)
	}
	var after gardenerv1beta1.Project
	err := call.MaxRetries(0).Do(ctx).Into(&after)
	return linearizability.Response{Result: r.result(request, err), Object: observed(&after, err)}
}

func (r *rivals) json(value any) []byte {
	content, err := json.Marshal(value)
	if err != nil {
		r.t.Error(err)
	}
	return content
}

// observed returns what a response has of a Project. One without finalizers that is being deleted no longer exists.
func observed(project *gardenerv1beta1.Project, err error) linearizability.Object {
	if err != nil || project.DeletionTimestamp != nil && len(project.Finalizers) == 0 {
		return linearizability.Object{}
	}
	object := linearizability.Object{
		Exists: true, UID: string(project.UID), Version: project.ResourceVersion,
		Confirmed: project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] == "true", Deleting: project.DeletionTimestamp != nil,
	}
	if project.Spec.Description != nil {
		object.Value = *project.Spec.Description
	}
	return object
}

// result classifies an error. What is not certainly a rejection may have been done.
func (r *rivals) result(request linearizability.Request, err error) linearizability.Result {
	creates := slices.Contains([]linearizability.Verb{linearizability.Create, linearizability.Apply}, request.Verb)
	switch {
	case err == nil:
		return linearizability.OK
	case apierrors.IsAlreadyExists(err):
		return linearizability.Exists
	case apierrors.IsNotFound(err):
		return linearizability.NotFound
	case apierrors.IsConflict(err), apierrors.IsInvalid(err) && request.Verb == linearizability.Finish: // a patch must not change the uid
		return linearizability.Conflict
	case apierrors.IsForbidden(err) && creates:
		return linearizability.Reserved
	case apierrors.IsForbidden(err) && request.Verb == linearizability.Delete:
		return linearizability.Unconfirmed
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
		r.t.Errorf("%+v: %v", request, err)
	}
	return linearizability.Unknown
}
