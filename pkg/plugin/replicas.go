// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// replicas checks the Deployments of the installation and each of their pods, which is asked for its readiness. An installation outside
// the cluster has none.
func (c *command) replicas(ctx context.Context, r *report.Report) {
	deployments := &appsv1.DeploymentList{}
	if c.listParts(ctx, r, "Deployments", deployments) {
		for i := range deployments.Items {
			d := &deployments.Items[i]
			addCheck(r, report.Checked{Name: "Deployment " + d.Name}, deploymentProblem(d))
		}
	}
	pods := &corev1.PodList{}
	if !c.listParts(ctx, r, "Pods", pods) {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodSucceeded {
			continue // it is no replica any more
		}
		checked := report.Checked{Name: "Pod " + pod.Name}
		failing, unasked := c.readyz(ctx, pod)
		checked.Unread = unasked
		problem := podProblem(pod)
		if problem != "" {
			for _, more := range []string{failing, c.lastWarning(ctx, pod)} {
				problem = strings.TrimSuffix(problem+"; "+more, "; ")
			}
			problem += fmt.Sprintf(": kubectl describe pod -n %s %s", pod.Namespace, pod.Name)
		}
		addCheck(r, checked, cmp.Or(problem, failing))
	}
}

// addCheck adds a part that was checked, with the problem if there is one.
func addCheck(r *report.Report, checked report.Checked, problem string) {
	r.Checked = append(r.Checked, checked)
	if problem != "" {
		r.Findings = append(r.Findings, report.Finding{Kind: checked.Name, Name: checked.Name, Level: report.Warning,
			Message: report.OneLine(problem)})
	}
}

// listParts lists the parts of the installation of a kind, and reports whether that succeeded. What the user may not read is reported as
// that, because what the API serves shows already whether the installation works.
func (c *command) listParts(
	ctx context.Context, r *report.Report, title string, list client.ObjectList, options ...client.ListOption,
) bool {
	if len(options) == 0 {
		options = []client.ListOption{client.MatchingLabels{"app.kubernetes.io/part-of": "groundskeeper"}}
	}
	switch err := c.client.List(ctx, list, append(options, client.InNamespace(uninstall.SystemNamespace))...); {
	case apierrors.IsForbidden(err):
		r.Checked = append(r.Checked, report.Checked{Name: title,
			Unread: fmt.Sprintf("you are not allowed to list %s in namespace %s", title, uninstall.SystemNamespace)})
		return false
	case err != nil:
		r.Checked = append(r.Checked, report.Checked{Name: title, Unread: report.OneLine(fmt.Sprintf("list %s: %s", title, c.explained(ctx, err)))})
		return false
	}
	return true
}

// deploymentProblem returns why a Deployment has no pod that is ready, or cannot create pods; "" if neither.
func deploymentProblem(d *appsv1.Deployment) string {
	if d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		return fmt.Sprintf("has 0 replicas: kubectl scale -n %s deployment/%s --replicas=1", d.Namespace, d.Name)
	}
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue {
			return "cannot create pods: " + condition.Message
		}
	}
	if d.Status.ReadyReplicas == 0 {
		return "has no pod that is ready"
	}
	return ""
}

// podProblem returns why a pod is not ready, "" if it is.
func podProblem(pod *corev1.Pod) string {
	ready := "is " + string(pod.Status.Phase)
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse:
			return fmt.Sprintf("is not scheduled: %s: %s", condition.Reason, strings.TrimSuffix(condition.Message, "."))
		case condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue:
			return ""
		case condition.Type == corev1.PodReady && condition.Message != "":
			ready = "is not ready: " + condition.Message
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if waiting := status.State.Waiting; waiting != nil && waiting.Reason != "PodInitializing" {
			text := strings.TrimSuffix(fmt.Sprintf("container %s waits: %s: %s", status.Name, waiting.Reason, waiting.Message), ": ")
			if last := status.LastTerminationState.Terminated; last != nil {
				text += fmt.Sprintf(", after it ended with exit code %d (%s)", last.ExitCode, last.Reason)
			}
			return text
		}
	}
	return ready
}

// lastWarning returns the last warning about a pod. Events expire, and not every user may read them: without any, it is "".
func (c *command) lastWarning(ctx context.Context, pod *corev1.Pod) string {
	events := &corev1.EventList{}
	warnings := client.MatchingFields{"involvedObject.name": pod.Name, "type": corev1.EventTypeWarning}
	if c.client.List(ctx, events, client.InNamespace(pod.Namespace), warnings) != nil {
		return ""
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	if len(events.Items) == 0 {
		return ""
	}
	last := events.Items[len(events.Items)-1]
	return last.Reason + ": " + strings.TrimSuffix(last.Message, ".")
}

// readyz asks a pod that runs for its readiness, where its readiness probe asks. It returns the checks that fail, and why it could not be
// asked: the kubelet asks it nevertheless.
func (c *command) readyz(ctx context.Context, pod *corev1.Pod) (failing, unasked string) {
	probe, port := readinessProbe(pod)
	if pod.Status.Phase != corev1.PodRunning || probe == nil || c.host == nil {
		return "", ""
	}
	path, _, _ := strings.Cut(probe.Path, "?") // all checks, also those that the probe excludes
	response, err := c.host.CoreV1().Pods(pod.Namespace).ProxyGet(strings.ToLower(string(probe.Scheme)), pod.Name, port, path,
		map[string]string{"verbose": "true"}).DoRaw(ctx)
	failing = failedChecks(string(response))
	switch {
	case failing != "" || err == nil:
		return failing, ""
	case apierrors.IsForbidden(err):
		return "", "you are not allowed to get pods/proxy, which shows the checks of its readiness"
	default:
		return "", report.OneLine(fmt.Sprintf("its readiness cannot be asked: %s", err))
	}
}

// readinessProbe returns the probe of a pod over HTTP, with the number of its port; nil if it has none.
func readinessProbe(pod *corev1.Pod) (*corev1.HTTPGetAction, string) {
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		if container.ReadinessProbe == nil || container.ReadinessProbe.HTTPGet == nil {
			continue
		}
		get := container.ReadinessProbe.HTTPGet
		for _, port := range container.Ports {
			if port.Name == get.Port.StrVal {
				return get, strconv.Itoa(int(port.ContainerPort))
			}
		}
		return get, get.Port.String()
	}
	return nil, ""
}

// failedChecks returns the checks that fail in a verbose response of Kubernetes' health checks.
func failedChecks(response string) string {
	var failed []string
	for line := range strings.Lines(response) {
		if check, ok := strings.CutPrefix(strings.TrimSpace(line), "[-]"); ok {
			failed = append(failed, strings.TrimSuffix(check, ": reason withheld"))
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return "/readyz: " + strings.Join(failed, ", ") + ": see its log"
}
