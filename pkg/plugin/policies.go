// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/pkg/policyparams"
)

// policiesTitle is what status calls the admission policies of the cluster.
const policiesTitle = "Policies"

// policies prints the admission policies that refuse every request for our kinds, because our API server cannot read their
// parameters. There is nothing to print when all work, and no error when the user is not allowed to check.
func (c *command) policies(ctx context.Context) error {
	config, err := c.config.ClientConfig()
	if err != nil {
		return err
	}
	host, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	problems, err := policyparams.Find(ctx, host, c.client.RESTMapper(), policyparams.Server(host))
	if apierrors.IsForbidden(err) {
		c.out.print("%-18s %s\n", policiesTitle, "you are not allowed to check them")
		return nil
	}
	if err != nil {
		return fmt.Errorf("check the parameters of admission policies: %w", err)
	}
	c.printPolicies(problems)
	return nil
}

func (c *command) printPolicies(problems []policyparams.Problem) {
	if len(problems) == 0 {
		return
	}
	c.out.print("%s %6s  %s\n", c.out.in(bold, fmt.Sprintf("%-18s", policiesTitle)), "", c.out.in(red, fmt.Sprintf("%d in trouble", len(problems))))
	for _, p := range problems {
		c.out.print("%s\n", c.line(p.Policy, finding{warning, p.Reason}))
	}
}
