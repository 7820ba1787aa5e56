// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/manager/gardenerconfig"
)

// Controllers that a removal needs, or that would undo it.
const (
	controllerProject     = "project"
	controllerOperator    = "discovery-operator"
	controllerMaintenance = "discovery-maintenance"
	controllerConvert     = "translation-convert"
	controllerPush        = "translation-push"
	controllerKluster     = "kluster"
	controllerDeorbit     = "kluster-deorbit"
	controllerAnnounce    = "kluster-discovery"
	controllerClusterAPI  = "kluster-capi"
)

// ManagerName is the name of the Deployment of the controller manager, and of its Lease.
const ManagerName = "groundskeeper-controller-manager"

// Manager is how the controller manager runs.
type Manager struct {
	// Silent is why no manager runs, "" when one does.
	Silent string
	// Config is its configuration, nil when it is not known, for the reason in Unknown.
	Config  *v1alpha1.ControllerManagerConfiguration
	Unknown string
	// Controllers are the states of its controllers, as the leader publishes them; nil while they are unknown.
	Controllers map[string]controllerstate.State
	// Deployed reports that it runs as the Deployment of the manifests, with the configuration from its ConfigMap.
	Deployed bool
	// Reconfigured reports that the Deployment has the configuration without the controllers that create Translations, which a
	// removal gave it. Whether its pods have it, too, is another question.
	Reconfigured bool
}

// Runs reports whether a controller works.
func (m Manager) Runs(controller string) bool {
	if m.Silent != "" || m.Config == nil || m.waits(controller) != "" {
		return false
	}
	c := m.Config.Controllers
	on := slices.Contains(c.Enabled, "*") || slices.Contains(c.Enabled, controller)
	if !on || slices.Contains(c.Enabled, "-"+controller) {
		return false
	}
	switch controller {
	case controllerConvert, controllerPush:
		return c.Translation.Configured() != ""
	case controllerKluster, controllerDeorbit, controllerAnnounce:
		return c.Kluster.Enabled != nil && *c.Kluster.Enabled
	case controllerClusterAPI:
		return c.Kluster.Enabled != nil && *c.Kluster.Enabled && c.Kluster.ClusterAPI.Enabled != nil && *c.Kluster.ClusterAPI.Enabled
	}
	return true
}

// waits returns which permissions a controller waits for, with what grants them; "" if it does not.
func (m Manager) waits(controller string) string {
	if state := m.Controllers[controller]; state.State == controllerstate.Waiting {
		return state.Reason
	}
	return ""
}

// Waiting returns a sentence about the controllers that wait for the same permissions, for each of these.
func (m Manager) Waiting() (all []string) {
	waiting := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(m.Controllers)) {
		if why := m.waits(name); why != "" {
			waiting[why] = append(waiting[why], name)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(waiting)) {
		all = append(all, fmt.Sprintf("waiting for permissions: %s: %s", strings.Join(waiting[why], ", "), why))
	}
	return all
}

// Findings are those of its controllers that belong to no object, by controller.
func (m Manager) Findings() (all []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Controllers)) {
		for _, finding := range m.Controllers[name].Findings {
			all = append(all, name+": "+finding)
		}
	}
	return all
}

// Idle returns why a controller does not run, "" if it does, or if that is unknown. What the leader publishes counts more than the
// configuration, which may have changed since it was read.
func (m Manager) Idle(controller string) string {
	state, published := m.Controllers[controller]
	switch {
	case m.Silent != "":
		return "the controller manager does not work: " + m.Silent
	case state.State == controllerstate.Disabled:
		return fmt.Sprintf("the controller %q is disabled: %s", controller, state.Reason)
	case state.State == controllerstate.Waiting:
		return fmt.Sprintf("the controller %q waits: %s", controller, state.Reason)
	case !published && m.Config != nil && !m.Runs(controller):
		return fmt.Sprintf("the controller %q is off (controllers.enabled, and its own section of the configuration, docs/configuration.md)",
			controller)
	}
	return ""
}

// TearsDownKlusters reports whether a deleted Kluster is deorbited, and why not: the controller manager does not run,
// or not with the controller for it. known is false when neither its Lease nor its configuration shows that.
func (m Manager) TearsDownKlusters() (runs, known bool, reason string) {
	if _, published := m.Controllers[controllerDeorbit]; !published && m.Config == nil && m.Silent == "" {
		return false, false, cmp.Or(m.Unknown, "its Lease does not show it")
	}
	reason = m.Idle(controllerDeorbit)
	return reason == "", true, reason
}

// takesBack reports whether a controller removes the resources of Translations from the backend.
func (m Manager) takesBack() bool {
	return m.Runs(controllerPush) && m.Config.Controllers.Translation.Push.Mode != v1alpha1.PushModePlan
}

// parseConfig reads a configuration as the controller manager does, Gardener's file as well.
func parseConfig(data []byte) (*v1alpha1.ControllerManagerConfiguration, error) {
	file, err := gardenerconfig.Load(data)
	if err != nil {
		return nil, err
	}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(file.Config)
	return file.Config, nil
}

// errNoConfig: the configuration is not in the ConfigMap of the manifests.
var errNoConfig = errors.New("it is not in a ConfigMap that the Deployment mounts")

// mounted returns the volume with the configuration of a Deployment, and the key in its ConfigMap.
func mounted(d *appsv1.Deployment) (volume *corev1.Volume, key string, err error) {
	for _, container := range d.Spec.Template.Spec.Containers {
		for i, arg := range slices.Concat(container.Command, container.Args) {
			file, ok := strings.CutPrefix(arg, "--config=")
			if all := slices.Concat(container.Command, container.Args); arg == "--config" && i+1 < len(all) {
				file, ok = all[i+1], true
			}
			if !ok {
				continue
			}
			for _, mount := range container.VolumeMounts {
				if path.Clean(mount.MountPath) != path.Dir(file) {
					continue
				}
				for j := range d.Spec.Template.Spec.Volumes {
					if v := &d.Spec.Template.Spec.Volumes[j]; v.Name == mount.Name && v.ConfigMap != nil && len(v.ConfigMap.Items) == 0 {
						return v, path.Base(file), nil
					}
				}
			}
		}
	}
	return nil, "", errNoConfig
}

// InspectManager finds out how the controller manager runs. data is its configuration where it was given, else nil.
func InspectManager(ctx context.Context, c client.Client, data []byte) (Manager, error) {
	m := Manager{}
	deployment := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: ManagerName}, deployment)
	if client.IgnoreNotFound(err) != nil {
		return m, err
	}
	switch m.Deployed = err == nil; {
	case data != nil:
	case !m.Deployed:
		m.Unknown = "there is no Deployment " + SystemNamespace + "/" + ManagerName
	default:
		if data, err = deployedConfig(ctx, c, deployment); err != nil {
			m.Unknown = err.Error()
		}
	}
	if m.Deployed {
		volume, _, err := mounted(deployment)
		m.Reconfigured = err == nil && volume.ConfigMap.Name == lastConfig
	}
	if data != nil {
		if m.Config, err = parseConfig(data); err != nil {
			m.Config, m.Unknown = nil, err.Error()
		}
	}
	m.Silent, m.Controllers, err = silence(ctx, c, m, deployment)
	return m, err
}

// ReadConfig reads the configuration of the controller manager from the ConfigMap that its Deployment mounts.
func ReadConfig(ctx context.Context, c client.Client) (*v1alpha1.ControllerManagerConfiguration, error) {
	deployment := &appsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: ManagerName}, deployment); err != nil {
		return nil, err
	}
	data, err := deployedConfig(ctx, c, deployment)
	if err != nil {
		return nil, err
	}
	return parseConfig(data)
}

func deployedConfig(ctx context.Context, c client.Client, deployment *appsv1.Deployment) ([]byte, error) {
	volume, key, err := mounted(deployment)
	if err != nil {
		return nil, err
	}
	held := &corev1.ConfigMap{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: volume.ConfigMap.Name}, held); err != nil {
		return nil, err
	}
	text, ok := held.Data[key]
	if !ok {
		return nil, fmt.Errorf("ConfigMap %s has no %s", held.Name, key)
	}
	return []byte(text), nil
}
