// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/bench/probe"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	benchmarkMembershipName = "membership"
	// goalPartOfRoles is the time until 1000 Projects are Ready, as a part of that of the other mode in the same run.
	goalPartOfRoles = 0.6
	// goalWritesByMembership are the writes per Project, its event and the renewals of the Lease among them.
	goalWritesByMembership = 7.0
	// decisions are how many requests RBAC decides about for one figure.
	decisions = 2000
	// moreProjects is for how many times as many Projects RBAC decides, and a member lists.
	moreProjects = 10
	// bindingsOfProject are the ClusterRoleBindings of a Project in the mode roles.
	bindingsOfProject = 4
)

// modeRun is what one mode of the authorization of Projects costs.
type modeRun struct {
	mode           string
	count, workers int
	// bound is for how many Projects RBAC decides with the bindings of the mode roles, if it is more than ten times count.
	bound    int
	reporter *report.Reporter
	plane    *plane.Plane
	kube     kubernetes.Interface
}

// benchmarkMembership creates Projects in each mode of their authorization, in one run, and measures what they cost the
// kube-apiserver for each request of the cluster.
func benchmarkMembership(ctx context.Context, reporter *report.Reporter, count, bound, workers int) error {
	ready := map[string]time.Duration{}
	for _, mode := range []string{"roles", "membership"} {
		m := &modeRun{mode: mode, count: count, bound: bound, workers: workers, reporter: reporter}
		elapsed, err := m.measure(ctx)
		if err != nil {
			return fmt.Errorf("mode %s: %w", mode, err)
		}
		ready[mode] = elapsed
	}
	figure := report.Figure{
		Benchmark: benchmarkMembershipName, Name: "time by membership, as a part of that by roles", Unit: "1", Objects: count,
		Value: ready["membership"].Seconds() / ready["roles"].Seconds(),
	}
	if count == projectsOfTheGoals {
		figure.Goal = new(goalPartOfRoles)
	}
	if err := reporter.Add(figure); err != nil {
		return err
	}
	return benchmarkRevocation(ctx, reporter)
}

// measure measures one mode on a separate plane, and returns how long it took until all Projects were Ready.
func (m *modeRun) measure(ctx context.Context) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "manager.yaml")
	content := "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers: {project: {authorization: " + m.mode + "}}\n"
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		return 0, err
	}
	m.plane, err = plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, PlainEtcd: true,
		APIServerFlags: []string{"--project-authorization=" + m.mode}, ManagerConfig: config,
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = m.plane.Stop(context.WithoutCancel(ctx)) }()
	client := rest.CopyConfig(m.plane.Config())
	client.QPS = -1
	client.ContentType, client.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	if m.kube, err = kubernetes.NewForConfig(client); err != nil {
		return 0, err
	}
	own, err := versioned.NewForConfig(client)
	if err != nil {
		return 0, err
	}
	if err := m.decide(ctx, 0); err != nil {
		return 0, err
	}
	before, err := measure(ctx, m.plane)
	if err != nil {
		return 0, err
	}
	elapsed, err := untilReady(ctx, own.GardenerV1beta1().Projects(), m.count, m.workers)
	if err != nil {
		return 0, err
	}
	after, err := measure(ctx, m.plane)
	if err != nil {
		return 0, err
	}
	var goal *float64
	if m.mode == "membership" && m.count == projectsOfTheGoals {
		goal = new(goalWritesByMembership)
	}
	if err := m.add("", "time until all projects are Ready", elapsed.Seconds(), "s", m.count, nil); err != nil {
		return 0, err
	}
	if err := m.add("", "writes per project", (after.writes-before.writes)/float64(m.count), "1", m.count, goal); err != nil {
		return 0, err
	}
	if err := m.decide(ctx, m.count); err != nil {
		return 0, err
	}
	if m.mode != "roles" { // by membership there are no bindings whose number could matter
		return elapsed, m.list(ctx, own.GardenerV1beta1().Projects())
	}
	have := m.count
	for _, projects := range []int{moreProjects * m.count, m.bound} {
		if projects <= have {
			continue
		}
		if err := m.bind(ctx, have, projects); err != nil {
			return 0, err
		}
		if err := m.decide(ctx, projects); err != nil {
			return 0, err
		}
		have = projects
	}
	return elapsed, nil
}

// add reports a figure of the mode.
func (m *modeRun) add(process, name string, value float64, unit string, objects int, goal *float64) error {
	return m.reporter.Add(report.Figure{
		Benchmark: benchmarkMembershipName, Process: process, Series: m.mode, Name: name, Value: value, Unit: unit, Objects: objects, Goal: goal,
	})
}

// each calls do with the numbers up to n, with as many as there are workers at the same time.
func (m *modeRun) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.workers)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// decide lets RBAC decide about requests that have nothing to do with Projects, and reports what one costs.
func (m *modeRun) decide(ctx context.Context, projects int) error {
	before, err := m.used(ctx)
	if err != nil {
		return err
	}
	err = m.each(ctx, decisions, func(ctx context.Context, i int) error {
		_, err := m.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: fmt.Sprintf("user-%d", i), Groups: []string{"system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "pods", Namespace: "default", Name: "web"},
		}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	after, err := m.used(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("CPU for a SubjectAccessReview with %d projects", projects)
	if err := m.add("kube-apiserver", name, float64((after.cpu-before.cpu).Microseconds())/decisions, "µs", projects, nil); err != nil {
		return err
	}
	name = fmt.Sprintf("garbage of a SubjectAccessReview with %d projects", projects)
	return m.add("kube-apiserver", name, (after.allocated-before.allocated)/decisions, "B", projects, nil)
}

// used is what the kube-apiserver has used since its start: CPU time, and bytes that it has allocated.
type used struct {
	cpu       time.Duration
	allocated float64
}

func (m *modeRun) used(ctx context.Context) (used, error) {
	usage, err := probe.UsageOf(m.plane.KubeAPIServer.PID())
	if err != nil {
		return used{}, err
	}
	config := m.plane.Config()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return used{}, err
	}
	const metric = "go_memstats_alloc_bytes_total"
	samples, err := probe.Scrape(ctx, httpClient, config.Host+"/metrics", metric)
	if err != nil {
		return used{}, err
	}
	if len(samples) != 1 {
		return used{}, fmt.Errorf("the metrics of kube-apiserver have %d samples of %s", len(samples), metric)
	}
	return used{usage.CPU, samples[0].Value}, nil
}

// bind creates ClusterRoleBindings like those of Projects, for as many Projects as are missing.
func (m *modeRun) bind(ctx context.Context, have, want int) error {
	return m.each(ctx, (want-have)*bindingsOfProject, func(ctx context.Context, i int) error {
		name := fmt.Sprintf("bench-%d", have*bindingsOfProject+i)
		_, err := m.kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice-" + name}, {APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "bob-" + name}},
		}, metav1.CreateOptions{})
		return err
	})
}
