// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const configHead = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"

// TestWithoutConverters checks that only the list of controllers changes in a configuration: no fields are added, and the defaults
// of another version are retained.
func TestWithoutConverters(t *testing.T) {
	const url = "translation: {midonet: {url: http://midonet.example.com/midonet-api}}"
	for name, test := range map[string]struct{ text, want string }{
		"all":             {"controllers: {" + url + ", enabled: ['*']}", "* -translation-convert -translation-annotate"},
		"none is named":   {"controllers: {" + url + "}", "* -translation-convert -translation-annotate"},
		"null":            {"controllers: {" + url + ", enabled: null}", "* -translation-convert -translation-annotate"},
		"no controllers":  {"", "* -translation-convert -translation-annotate"},
		"some":            {"controllers: {enabled: [project, translation-convert, translation-push]}", "project translation-push"},
		"without others":  {"controllers: {enabled: ['*', -project, -translation-convert]}", "* -project -translation-convert -translation-annotate"},
		"it alone":        {"controllers: {enabled: [translation-convert]}", ""},
		"it without one":  {"controllers: {enabled: [translation-convert, -project]}", ""},
		"nobody":          {"controllers: {enabled: []}", ""},
		"named elsewhere": {"controllers: {enabled: &all ['*']}\n", "* -translation-convert -translation-annotate"},
	} {
		text, err := withoutConverters([]byte(configHead + test.text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		config, err := parseConfig(text)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text)
		}
		if got := strings.Join(config.Controllers.Enabled, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if (Manager{Config: config}).Runs(controllerConvert) {
			t.Errorf("%s: it runs", name)
		}
	}
	text, err := withoutConverters([]byte(configHead + "later: {field: 1}\nclientConnection: {qps: 0.5}\ncontrollers: {project: {concurrentSyncs: 3, name: \"yes\"}}"))
	want := "apiVersion: config.groundskeeper.io/v1alpha1\nclientConnection:\n    qps: 0.5\ncontrollers:\n    enabled:\n        - '*'\n        - -translation-convert\n        - -translation-annotate\n" +
		"    project:\n        concurrentSyncs: 3\n        name: \"yes\"\nkind: ControllerManagerConfiguration\nlater:\n    field: 1\n"
	if err != nil || string(text) != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, text, want)
	}
	if _, err := withoutConverters(nil); err == nil {
		t.Error("nothing is a configuration")
	}
}

// managed returns a cluster with the controller manager, whose Deployment mounts this ConfigMap with a configuration with these
// controllers. A pod of before is still there.
func managed(t *testing.T, mounts, enabled string) *world {
	t.Helper()
	labels := map[string]string{"app": "manager"}
	d := &appsv1.Deployment{ObjectMeta: named(SystemNamespace, ManagerName)}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Spec = corev1.PodSpec{
		Containers: []corev1.Container{{Args: []string{"--config=/etc/groundskeeper/config.yaml"}, VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/groundskeeper"}}}},
		Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: mounts}}}}},
	}
	d.Status = appsv1.DeploymentStatus{UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1}
	config := &corev1.ConfigMap{ObjectMeta: named(SystemNamespace, mounts),
		Data: map[string]string{"config.yaml": configHead + strings.Replace(everything, "{", "{enabled: "+enabled+", ", 1)}}
	pod := func(name string) client.Object {
		return &corev1.Pod{ObjectMeta: named(SystemNamespace, name, func(m *metav1.ObjectMeta) { m.Labels = labels })}
	}
	election := configured(t, "").LeaderElection
	return newWorld(t, d, config, pod("old"), pod("new"), &coordinationv1.Lease{
		ObjectMeta: named(election.ResourceNamespace, election.ResourceName),
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("somebody"), RenewTime: new(metav1.NowMicro())}})
}

// renew is a manager that works: whenever its Lease is read, it was just renewed.
func renew(object client.Object) {
	if lease, ok := object.(*coordinationv1.Lease); ok {
		lease.Spec.RenewTime = new(metav1.NowMicro())
	}
}

// TestConverterIsStopped checks that the wait ends after the old pod, which continues to convert until it exits, and after the new
// pod has acquired the Lease, also if an earlier run that was interrupted changed the Deployment.
func TestConverterIsStopped(t *testing.T) {
	for name, test := range map[string]struct {
		mounts, enabled string
		ends, works     bool
		want            string
	}{
		"the first time":                   {"config", "['*']", true, true, ""},
		"after a run that was left":        {lastConfig, "['*', -translation-convert]", true, true, ""},
		"the old pod stays":                {lastConfig, "['*', -translation-convert]", false, true, "pod old"},
		"the Lease has no holder any more": {lastConfig, "['*', -translation-convert]", true, false, "no manager renews Lease"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := managed(t, test.mounts, test.enabled)
				w.read = renew
				f := installed(t)
				var err error
				if f.Manager, err = InspectManager(t.Context(), w.Client, nil); err != nil || f.Manager.Silent != "" || f.Manager.Reconfigured != (test.mounts == lastConfig) {
					t.Fatalf("%+v, %v", f.Manager, err)
				}
				steps := w.steps(f)
				i := slices.IndexFunc(steps, func(s step) bool { return strings.HasPrefix(s.what, "stop the controller") })
				if steps[i].skip {
					t.Fatal("it is skipped")
				}
				if text := NewPlan(f, defaults).String(); !strings.Contains(text, "The controller manager restarts") {
					t.Errorf("the plan does not mention it:\n%s", text)
				}
				w.Show = func(line string) {
					w.shown = append(w.shown, line)
					if pod := (&corev1.Pod{ObjectMeta: named(SystemNamespace, "old")}); test.ends {
						if err := w.Delete(t.Context(), pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
							t.Error(err)
						}
					}
					if !test.works {
						w.read = nil
					}
				}
				line, err := steps[i].do(t.Context())
				if test.want == "" && (err != nil || line == "") || test.want != "" && (err == nil || line != "" || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("%q, %v, want %q", line, err, test.want)
				}
				if len(w.shown) == 0 || !strings.Contains(w.shown[0], "pod old") {
					t.Errorf("it did not wait for the pod of before: %q", w.shown)
				}
				w.mountsLast(t)
			})
		})
	}
}

// mountsLast checks that the Deployment has a configuration without converters.
func (w *world) mountsLast(t *testing.T) {
	t.Helper()
	w.read = renew
	m, err := InspectManager(t.Context(), w.Client, nil)
	if err != nil || !m.Reconfigured || m.Config == nil || m.Runs(controllerConvert) || !m.Runs(controllerPush) {
		t.Errorf("%+v, %v", m, err)
	}
}
