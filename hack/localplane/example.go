// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/test/plane"
)

// exampleTimeout is how long the example Project may take until it is Ready; a manager that was killed
// holds its Lease for 15 s.
const exampleTimeout = time.Minute

// example creates the Project of the manifest and waits until it is Ready. It does so once in the life of
// the data: what the user made of the Project since, its deletion too, is theirs.
func example(ctx context.Context, p *plane.Plane, manifest string, report func(string)) error {
	done := filepath.Join(p.Dir(), "example-created")
	if _, err := os.Stat(done); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	content, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	var project gardenerv1beta1.Project
	if err := yaml.UnmarshalStrict(content, &project); err != nil {
		return fmt.Errorf("%s: %w", manifest, err)
	}
	clients, err := versioned.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	projects := clients.GardenerV1beta1().Projects()
	if _, err := projects.Create(ctx, &project, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot create the example Project %s: %w", project.Name, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, exampleTimeout, fmt.Errorf("gave up after %s", exampleTimeout))
	defer cancel()
	for {
		current, err := projects.Get(ctx, project.Name, metav1.GetOptions{})
		if err == nil && current.Status.Phase == gardenerv1beta1.ProjectReady {
			report(fmt.Sprintf("%-32s Ready, its namespace is %s", "Project "+project.Name, current.NamespaceName()))
			return os.WriteFile(done, nil, 0o600)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the example Project %s is not Ready (%w): %s", project.Name, context.Cause(ctx), why(current, err, p))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// why returns what the Project waits for, according to its status and the log of the controller manager.
func why(project *gardenerv1beta1.Project, err error, p *plane.Plane) string {
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("its phase is %q", project.Status.Phase)
	for _, c := range project.Status.Conditions {
		wanted := c.Type == gardenerv1beta1.ProjectNamespaceReady || c.Type == gardenerv1beta1.ProjectRBACReady
		if wanted && c.Status != gardenerv1beta1.ConditionTrue {
			text += fmt.Sprintf("; %s: %s", c.Type, c.Message)
		}
	}
	text += "; the last lines of " + p.Managers[0].LogFile() + ":"
	for _, line := range p.Managers[0].Tail(15) {
		text += "\n  " + line
	}
	return text
}
