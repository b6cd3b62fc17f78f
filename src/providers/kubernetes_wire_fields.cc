#include "providers/kubernetes_wire.h"

namespace evenkeel::providers {

// From k8s.io/api/core/v1 and k8s.io/apimachinery/pkg/apis/meta/v1.
const std::string_view kKubernetesFieldNumbers = R"(
Affinity 1=nodeAffinity 2=podAffinity 3=podAntiAffinity
AppArmorProfile 1=type 2=localhostProfile
AttachedVolume 1=name 2=devicePath
CSIVolumeSource 1=driver 2=readOnly 3=fsType 4=volumeAttributes 5=nodePublishSecretRef
Capabilities 1=add 2=drop
ClusterTrustBundleProjection 1=name 2=signerName 3=labelSelector 4=path 5=optional
ConfigMapEnvSource 1.1=name 2=optional
ConfigMapKeySelector 1.1=name 2=key 3=optional
ConfigMapProjection 1.1=name 2=items 4=optional
ConfigMapVolumeSource 1.1=name 2=items 3=defaultMode 4=optional
Container 1=name 2=image 3=command 4=args 5=workingDir 6=ports 7=env 8=resources 9=volumeMounts 10=livenessProbe
  11=readinessProbe 12=lifecycle 13=terminationMessagePath 14=imagePullPolicy 15=securityContext 16=stdin 17=stdinOnce 18=tty
  19=envFrom 20=terminationMessagePolicy 21=volumeDevices 22=startupProbe 23=resizePolicy 24=restartPolicy
ContainerImage 1=names 2=sizeBytes
ContainerPort 1=name 2=hostPort 3=containerPort 4=protocol 5=hostIP
ContainerResizePolicy 1=resourceName 2=restartPolicy
ContainerState 1=waiting 2=running 3=terminated
ContainerStateRunning 1=startedAt
ContainerStateTerminated 1=exitCode 2=signal 3=reason 4=message 5=startedAt 6=finishedAt 7=containerID
ContainerStateWaiting 1=reason 2=message
ContainerStatus 1=name 2=state 3=lastState 4=ready 5=restartCount 6=image 7=imageID 8=containerID 9=started
  10=allocatedResources 11=resources 12=volumeMounts
DaemonEndpoint 1=Port
DownwardAPIProjection 1=items
DownwardAPIVolumeFile 1=path 2=fieldRef 3=resourceFieldRef 4=mode
DownwardAPIVolumeSource 1=items 2=defaultMode
EmptyDirVolumeSource 1=medium 2=sizeLimit
EnvFromSource 1=prefix 2=configMapRef 3=secretRef
EnvVar 1=name 2=value 3=valueFrom
EnvVarSource 1=fieldRef 2=resourceFieldRef 3=configMapKeyRef 4=secretKeyRef
EphemeralContainer 1.1=name 1.2=image 1.3=command 1.4=args 1.5=workingDir 1.6=ports 1.7=env 1.8=resources 1.9=volumeMounts
  1.10=livenessProbe 1.11=readinessProbe 1.12=lifecycle 1.13=terminationMessagePath 1.14=imagePullPolicy 1.15=securityContext
  1.16=stdin 1.17=stdinOnce 1.18=tty 1.19=envFrom 1.20=terminationMessagePolicy 1.21=volumeDevices 1.22=startupProbe
  1.23=resizePolicy 1.24=restartPolicy 2=targetContainerName
EphemeralVolumeSource 1=volumeClaimTemplate
ExecAction 1=command
GRPCAction 1=port 2=service
HTTPGetAction 1=path 2=port 3=host 4=scheme 5=httpHeaders
HTTPHeader 1=name 2=value
HostAlias 1=ip 2=hostnames
HostIP 1=ip
HostPathVolumeSource 1=path 2=type
ImageVolumeSource 1=reference 2=pullPolicy
KeyToPath 1=key 2=path 3=mode
LabelSelector 1=matchLabels 2=matchExpressions
LabelSelectorRequirement 1=key 2=operator 3=values
Lifecycle 1=postStart 2=preStop
LifecycleHandler 1=exec 2=httpGet 3=tcpSocket 4=sleep
LocalObjectReference 1=name
NFSVolumeSource 1=server 2=path 3=readOnly
Node 1=metadata 2=spec 3=status
NodeAddress 1=type 2=address
NodeAffinity 1=requiredDuringSchedulingIgnoredDuringExecution 2=preferredDuringSchedulingIgnoredDuringExecution
NodeCondition 1=type 2=status 3=lastHeartbeatTime 4=lastTransitionTime 5=reason 6=message
NodeDaemonEndpoints 1=kubeletEndpoint
NodeFeatures 1=supplementalGroupsPolicy
NodeRuntimeHandler 1=name 2=features
NodeRuntimeHandlerFeatures 1=recursiveReadOnlyMounts 2=userNamespaces
NodeSelector 1=nodeSelectorTerms
NodeSelectorRequirement 1=key 2=operator 3=values
NodeSelectorTerm 1=matchExpressions 2=matchFields
NodeSpec 1=podCIDR 2=externalID 3=providerID 4=unschedulable 5=taints 7=podCIDRs
NodeStatus 1=capacity 2=allocatable 3=phase 4=conditions 5=addresses 6=daemonEndpoints 7=nodeInfo 8=images 9=volumesInUse
  10=volumesAttached 12=runtimeHandlers 13=features
NodeSystemInfo 1=machineID 2=systemUUID 3=bootID 4=kernelVersion 5=osImage 6=containerRuntimeVersion 7=kubeletVersion
  8=kubeProxyVersion 9=operatingSystem 10=architecture
ObjectFieldSelector 1=apiVersion 2=fieldPath
ObjectMeta 1=name 2=generateName 3=namespace 4=selfLink 5=uid 6=resourceVersion 7=generation 8=creationTimestamp
  9=deletionTimestamp 10=deletionGracePeriodSeconds 11=labels 12=annotations 13=ownerReferences 14=finalizers
OwnerReference 1=kind 3=name 4=uid 5=apiVersion 6=controller 7=blockOwnerDeletion
PersistentVolumeClaimSpec 1=accessModes 2=resources 3=volumeName 4=selector 5=storageClassName 6=volumeMode 7=dataSource
  8=dataSourceRef 9=volumeAttributesClassName
PersistentVolumeClaimTemplate 1=metadata 2=spec
PersistentVolumeClaimVolumeSource 1=claimName 2=readOnly
Pod 1=metadata 2=spec 3=status
PodAffinity 1=requiredDuringSchedulingIgnoredDuringExecution 2=preferredDuringSchedulingIgnoredDuringExecution
PodAffinityTerm 1=labelSelector 2=namespaces 3=topologyKey 4=namespaceSelector 5=matchLabelKeys 6=mismatchLabelKeys
PodAntiAffinity 1=requiredDuringSchedulingIgnoredDuringExecution 2=preferredDuringSchedulingIgnoredDuringExecution
PodCondition 1=type 2=status 3=lastProbeTime 4=lastTransitionTime 5=reason 6=message 7=observedGeneration
PodDNSConfig 1=nameservers 2=searches 3=options
PodDNSConfigOption 1=name 2=value
PodIP 1=ip
PodOS 1=name
PodReadinessGate 1=conditionType
PodResourceClaim 1=name 3=resourceClaimName 4=resourceClaimTemplateName
PodResourceClaimStatus 1=name 2=resourceClaimName
PodSchedulingGate 1=name
PodSecurityContext 1=seLinuxOptions 2=runAsUser 3=runAsNonRoot 4=supplementalGroups 5=fsGroup 6=runAsGroup 7=sysctls
  8=windowsOptions 9=fsGroupChangePolicy 10=seccompProfile 11=appArmorProfile
PodSpec 1=volumes 2=containers 3=restartPolicy 4=terminationGracePeriodSeconds 5=activeDeadlineSeconds 6=dnsPolicy
  7=nodeSelector 8=serviceAccountName 9=serviceAccount 10=nodeName 11=hostNetwork 12=hostPID 13=hostIPC 14=securityContext
  15=imagePullSecrets 16=hostname 17=subdomain 18=affinity 19=schedulerName 20=initContainers 21=automountServiceAccountToken
  22=tolerations 23=hostAliases 24=priorityClassName 25=priority 26=dnsConfig 27=shareProcessNamespace 28=readinessGates
  29=runtimeClassName 30=enableServiceLinks 31=preemptionPolicy 32=overhead 33=topologySpreadConstraints 34=ephemeralContainers
  35=setHostnameAsFQDN 36=os 37=hostUsers 38=schedulingGates 39=resourceClaims
PodStatus 1=phase 2=conditions 3=message 4=reason 5=hostIP 6=podIP 7=startTime 8=containerStatuses 9=qosClass
  10=initContainerStatuses 11=nominatedNodeName 12=podIPs 13=ephemeralContainerStatuses 14=resize 15=resourceClaimStatuses
  16=hostIPs 17=observedGeneration
PreferredSchedulingTerm 1=weight 2=preference
Probe 1.1=exec 1.2=httpGet 1.3=tcpSocket 1.4=grpc 2=initialDelaySeconds 3=timeoutSeconds 4=periodSeconds 5=successThreshold
  6=failureThreshold 7=terminationGracePeriodSeconds
ProjectedVolumeSource 1=sources 2=defaultMode
ResourceClaim 1=name 2=request
ResourceFieldSelector 1=containerName 2=resource 3=divisor
ResourceRequirements 1=limits 2=requests 3=claims
SELinuxOptions 1=user 2=role 3=type 4=level
SeccompProfile 1=type 2=localhostProfile
SecretEnvSource 1.1=name 2=optional
SecretKeySelector 1.1=name 2=key 3=optional
SecretProjection 1.1=name 2=items 4=optional
SecretVolumeSource 1=secretName 2=items 3=defaultMode 4=optional
SecurityContext 1=capabilities 2=privileged 3=seLinuxOptions 4=runAsUser 5=runAsNonRoot 6=readOnlyRootFilesystem
  7=allowPrivilegeEscalation 8=runAsGroup 9=procMount 10=windowsOptions 11=seccompProfile 12=appArmorProfile
ServiceAccountTokenProjection 1=audience 2=expirationSeconds 3=path
SleepAction 1=seconds
Sysctl 1=name 2=value
TCPSocketAction 1=port 2=host
Taint 1=key 2=value 3=effect 4=timeAdded
Toleration 1=key 2=operator 3=value 4=effect 5=tolerationSeconds
TopologySpreadConstraint 1=maxSkew 2=topologyKey 3=whenUnsatisfiable 4=labelSelector 5=minDomains 6=nodeAffinityPolicy
  7=nodeTaintsPolicy 8=matchLabelKeys
TypedLocalObjectReference 1=apiGroup 2=kind 3=name
TypedObjectReference 1=apiGroup 2=kind 3=name 4=namespace
Volume 1=name 2.1=hostPath 2.2=emptyDir 2.6=secret 2.7=nfs 2.10=persistentVolumeClaim 2.16=downwardAPI 2.19=configMap
  2.26=projected 2.28=csi 2.29=ephemeral 2.30=image
VolumeDevice 1=name 2=devicePath
VolumeMount 1=name 2=readOnly 3=mountPath 4=subPath 5=mountPropagation 6=subPathExpr 7=recursiveReadOnly
VolumeMountStatus 1=name 2=mountPath 3=readOnly 4=recursiveReadOnly
VolumeProjection 1=secret 2=downwardAPI 3=configMap 4=serviceAccountToken 5=clusterTrustBundle
VolumeResourceRequirements 1=limits 2=requests
WeightedPodAffinityTerm 1=weight 2=podAffinityTerm
WindowsSecurityContextOptions 1=gmsaCredentialSpecName 2=gmsaCredentialSpec 3=runAsUserName 4=hostProcess
)";

}  // namespace evenkeel::providers
