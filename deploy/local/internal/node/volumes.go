package node

import (
	"context"
	"encoding/json"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Provisioner is the provisioner of StorageClasses whose claims get volumes here.
const Provisioner = "holdfast.dev/nowhere"

// Annotations of Kubernetes: kube-controller-manager requests a volume with the first one, and ignores
// volumes with the second one.
const (
	wantedFrom    = "volume.kubernetes.io/storage-provisioner"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// claim creates a volume for a pending claim, and expands it with the claim.
func (p player) claim(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	if claim.DeletionTimestamp != nil || claim.Annotations[wantedFrom] != Provisioner {
		return nil
	}
	if claim.Spec.VolumeName == "" {
		return p.provision(ctx, claim)
	}
	wanted := claim.Spec.Resources.Requests[core.ResourceStorage]
	if has, ok := claim.Status.Capacity[core.ResourceStorage]; !ok || wanted.Cmp(has) <= 0 {
		return nil
	}
	capacity := map[string]any{"capacity": core.ResourceList{core.ResourceStorage: wanted}}
	volume, err := json.Marshal(map[string]any{"spec": capacity})
	if err != nil {
		return err
	}
	if _, err := p.client.CoreV1().PersistentVolumes().Patch(ctx, claim.Spec.VolumeName, types.MergePatchType, volume, meta.PatchOptions{}); err != nil {
		return err
	}
	status, err := json.Marshal(map[string]any{"status": capacity})
	if err != nil {
		return err
	}
	_, err = p.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, status, meta.PatchOptions{}, "status")
	return err
}

func (p player) provision(ctx context.Context, claim *core.PersistentVolumeClaim) error {
	class, err := p.client.StorageV1().StorageClasses().Get(ctx, *claim.Spec.StorageClassName, meta.GetOptions{})
	if err != nil {
		return err
	}
	name := "pvc-" + string(claim.UID)
	volume := &core.PersistentVolume{
		ObjectMeta: meta.ObjectMeta{Name: name, Annotations: map[string]string{provisionedBy: Provisioner}},
		Spec: core.PersistentVolumeSpec{
			Capacity:                      core.ResourceList{core.ResourceStorage: claim.Spec.Resources.Requests[core.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			VolumeMode:                    claim.Spec.VolumeMode,
			StorageClassName:              class.Name,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy,
			PersistentVolumeSource:        core.PersistentVolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/nowhere/" + name}},
			ClaimRef: &core.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, volume, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// volume deletes a volume whose claim was deleted.
func (p player) volume(ctx context.Context, volume *core.PersistentVolume) error {
	if volume.Status.Phase != core.VolumeReleased || volume.Annotations[provisionedBy] != Provisioner ||
		volume.Spec.PersistentVolumeReclaimPolicy != core.PersistentVolumeReclaimDelete || volume.DeletionTimestamp != nil {
		return nil
	}
	return p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, meta.DeleteOptions{})
}
