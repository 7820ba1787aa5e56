// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	typedv1beta1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/bench/report"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	// goalList is the time of a list of three Projects, in ms.
	goalList = 10.0
	// goalRevocation is the time after which no API server allows a removed member anything, in ms.
	goalRevocation = 1000.0
	// lists and revocations are how often each is measured.
	lists       = 200
	revocations = 50
	// projectsOfMember are the Projects in the list of a member.
	projectsOfMember = 3
	memberName       = "rita@example.com"
)

// openProjects creates the permissions of artifacts/membership for Projects.
func openProjects(ctx context.Context, config *rest.Config) error {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "bench-project-membership"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects"}, Verbs: []string{"get", "list", "watch"},
		}},
	}
	_, roleErr := kube.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
	_, bindingErr := kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
	}, metav1.CreateOptions{})
	return errors.Join(roleErr, bindingErr)
}

// memberOf returns the Projects as the member sees them.
func memberOf(config *rest.Config) (typedv1beta1.ProjectInterface, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: memberName, Groups: []string{"system:authenticated"}}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return client.GardenerV1beta1().Projects(), nil
}

// newMemberProject returns a Project with the member.
func newMemberProject(name string) *gardenerv1beta1.Project {
	project := newProject(name)
	member := gardenerv1beta1.ProjectMember{}
	member.Kind, member.Name, member.Roles = rbacv1.UserKind, memberName, []string{"viewer"}
	project.Spec.Members = append(project.Spec.Members, member)
	return project
}

// list measures a list of a member with ten times as many Projects, which the controller manager does not reconcile.
func (m *modeRun) list(ctx context.Context, projects typedv1beta1.ProjectInterface) error {
	if err := m.plane.Managers[0].Stop(ctx); err != nil {
		return err
	}
	if err := openProjects(ctx, m.plane.Config()); err != nil {
		return err
	}
	all := moreProjects * m.count
	err := m.each(ctx, all-m.count, func(ctx context.Context, i int) error {
		project := newProject(fmt.Sprintf("more-%d", i))
		if i < projectsOfMember {
			project = newMemberProject(project.Name)
		}
		_, err := projects.Create(ctx, project, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	mine, err := memberOf(m.plane.Config())
	if err != nil {
		return err
	}
	var times []float64
	for i := range lists + 10 {
		start := time.Now()
		list, err := mine.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if len(list.Items) != projectsOfMember {
			return fmt.Errorf("the list of the member has %d projects", len(list.Items))
		}
		if i >= 10 { // the first open the connection and fill the caches
			times = append(times, float64(time.Since(start).Microseconds())/1000)
		}
	}
	slices.Sort(times)
	figure := report.Figure{
		Benchmark: benchmarkMembershipName, Series: m.mode, Name: fmt.Sprintf("list of %d of %d projects", projectsOfMember, all), Unit: "ms", Objects: all,
		Value: times[len(times)/2], Least: new(times[0]), Most: new(times[len(times)-1]),
	}
	if m.count == projectsOfTheGoals {
		figure.Goal = new(goalList)
	}
	return m.reporter.Add(figure)
}

// benchmarkRevocation measures how long each of two API servers still allows something to a member who was removed: requests that it
// decides with its watch cache alone.
func benchmarkRevocation(ctx context.Context, reporter *report.Reporter) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := plane.Start(ctx, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 2, SharedEtcd: true, PlainEtcd: true, APIServerFlags: []string{"--project-authorization=membership"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = p.Stop(context.WithoutCancel(ctx)) }()
	if err := openProjects(ctx, p.Config()); err != nil {
		return err
	}
	own, err := versioned.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	var servers []typedv1beta1.ProjectInterface
	for i := range p.APIServers {
		server, err := memberOf(p.DirectConfig(i))
		if err != nil {
			return err
		}
		servers = append(servers, server)
	}
	projects := own.GardenerV1beta1().Projects()
	project, err := projects.Create(ctx, newMemberProject("bench"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	with := project.Spec.Members
	without := slices.DeleteFunc(slices.Clone(with), func(m gardenerv1beta1.ProjectMember) bool { return m.Name == memberName })
	var times []float64
	for range revocations {
		if project.Spec.Members = with; len(times) > 0 {
			if project, err = projects.Update(ctx, project, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		if _, err := untilAllowed(ctx, servers, project.Name, true); err != nil {
			return err
		}
		project.Spec.Members = without
		if project, err = projects.Update(ctx, project, metav1.UpdateOptions{}); err != nil {
			return err
		}
		took, err := untilAllowed(ctx, servers, project.Name, false)
		if err != nil {
			return err
		}
		times = append(times, float64(took.Microseconds())/1000)
	}
	slices.Sort(times)
	return reporter.Add(report.Figure{
		Benchmark: benchmarkMembershipName, Series: "membership", Name: "time until both API servers deny a removed member, the longest", Unit: "ms",
		Value: times[len(times)-1], Objects: revocations, Goal: new(goalRevocation),
	})
}

// untilAllowed waits until each server allows a get from its watch cache, or none does, and returns how long it took.
func untilAllowed(ctx context.Context, servers []typedv1beta1.ProjectInterface, name string, want bool) (time.Duration, error) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, server := range servers {
		group.Go(func() error {
			for {
				_, err := server.Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
				if err != nil && !apierrors.IsForbidden(err) {
					return err
				}
				if (err == nil) == want {
					return nil
				}
			}
		})
	}
	err := group.Wait()
	return time.Since(start), err
}
