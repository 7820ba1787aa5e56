// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

// SecretName is the name of the Secret with what is needed to connect, whichever of its two fields gives it.
func (c *Cluster) SecretName() string {
	if c.Secret != "" {
		return c.Secret
	}
	return c.Credentials
}
