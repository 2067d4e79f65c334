"""What brokers and controllers say of each other: registration, heartbeats, in-sync replicas, elections, requests, shutdown."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_WHY = "The accompanying exception says why"
_ON_DISK = "Nothing is wrong on disk"

PHRASES = (
    # who may talk to whom
    Phrase(
        "is not authorized to send alterisr|is not authorized to send alterpartition|cluster authorization error in response"
        "|CLUSTER_AUTHORIZATION_FAILED",
        "a node does not have the permission that nodes need (ClusterAction): add its principal to super.users, or give it the"
        f" ACL. {_ON_DISK}, but replicas may drop out of sync",
    ),
    Phrase(
        "failed due to authentication error|failed for node {} with an authentication exception|registrationresponsehandler:"
        " authentication error|failed for {} with authentication exception|because of an authentication exception|failed to"
        " send the following request due to authentication error",
        "a node could not log in to another one: their security settings differ, or a password or certificate has expired."
        f" {_ON_DISK}; it tries again",
    ),
    Phrase(
        "failed due to unsupported version error|registrationresponsehandler: unsupported api version error|with invalid"
        " version exception|because of a version mismatch exception",
        f"the other node does not know this kind of request, because it runs an older Kafka, as during an upgrade. {_ON_DISK}",
    ),
    Phrase(
        "feature incompatibilities seen|does not support finalized version|because the broker has an unsupported version of"
        "|does not support the cluster metadataversion|failed to process feature zk node change event|due to incompatibilities"
        " with finalized features|but this controller only supports versions",
        "this Kafka does not support a feature level (metadata.version and the like) that the cluster has: it is too old, usually"
        f" after a downgrade. The node does not join or stops. {_ON_DISK}; start the newer release",
    ),
    Phrase(
        "could not downgrade metadata.version|unsafe metadata downgrade is not supported|unsupported metadata.version downgrade",
        "metadata.version was not lowered: Kafka does not go back where records of the metadata differ. Nothing has changed; stay"
        " with a release that knows the version, or restore all nodes from a copy of the time before",
    ),
    Phrase(
        "downgrading metadata.version from|upgrading metadata.version from",
        "somebody changed metadata.version with kafka-features.sh. This is no fault",
    ),
    Phrase(
        "failed to connect within {n} ms|couldn't resolve server|unknownhostexception|was disconnected before the response was"
        " read|could not be established. broker may not be available|could not be established. node may not be available"
        "|bootstrap broker {} disconnected|fails to send a request to broker|fails to send request {} to broker|'s connection"
        " to broker {} was unsuccessful|(id: {n} rack: {}) failed|not sending request {} since it is offline|haven't been able"
        " to send {} requests",
        "a node or client does not reach another one: it is down, restarts, is overloaded, or the network or listener is wrong."
        f" It tries again. {_ON_DISK}; if it lasts, look at the log of the other node",
    ),
    # registration and heartbeats
    Phrase(
        "had a stale broker epoch|expected broker epoch {} but got broker epoch|STALE_BROKER_EPOCH",
        "a request has an older epoch of the broker than the controller knows, because the broker registered again. It asks"
        " again; nothing is lost",
    ),
    Phrase(
        "no broker registration found for broker id|receive a heartbeat from broker {} before registration|broker id {n} is not"
        " currently registered|our broker id is not yet known by the controller|our broker currentblockcount was stale"
        "|ignoring allocateproducerids due to",
        "the controller does not know this broker at the moment: it is starting, or was unregistered. This passes when the broker"
        f" has registered. {_ON_DISK}",
    ),
    Phrase(
        "is already registered with directory",
        "two brokers have a log directory with the same directory.id, because one was copied from the other. The controller"
        " refuses the second broker. Nothing is lost; remove directory.id from meta.properties of the copy if it really belongs"
        " to the other broker",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "sent a heartbeat request but received error",
        "the controller refused a heartbeat of this broker, which sends another one. NOT_CONTROLLER is normal after an election."
        " If it goes on for broker.session.timeout.ms, the broker is fenced, and its partitions get other leaders",
    ),
    Phrase(
        "controller event queue overloaded",
        "the controller is too slow to handle heartbeats in time, and brokers may be fenced for it. Nothing is lost; look at the"
        " load and the disk of the controller",
    ),
    Phrase(
        "registrationresponsehandler: unknown error|registrationresponsehandler: invalid response type"
        "|registrationresponsehandler: channel manager timed out",
        f"a controller could not register with the active one, and tries again. {_ON_DISK}",
    ),
    # in-sync replicas and directories
    Phrase(
        "failed to update isr|unexpected top-level error when handling alterisr|unexpected top-level error when handling"
        " alterpartition|was sent but not included in the response|controller returned an invalid leader recovery state"
        "|in-flight flag when no apparent request|failed to enqueue isr change state|error when processing alterisr|error when"
        " processing alterpartition|encountered unexpected timeout when sending alterisr|encountered unexpected timeout when"
        " sending alterpartition",
        "a leader asked the controller to change the in-sync replicas of a partition, and this did not succeed. It asks again,"
        " and no record is lost; until then, replicas remain in or out of sync as before. If it repeats, look at the"
        " controller's log",
    ),
    Phrase(
        "rejecting alterpartition request {} because it specified an invalid isr",
        "the controller refused a change of in-sync replicas that contradicts its metadata. The replicas remain as they were;"
        " nothing is lost",
    ),
    Phrase(
        "assignreplicastodirsrequest from broker {} references|handleresponse: {} assignments failed|handleresponse: error"
        " assigning|handleresponse: no result in response for partition",
        "a broker reports to the controller which log directory each replica is in, and not all of it was accepted: a partition"
        " was deleted meanwhile, or the controller changed. It reports again; nothing is lost",
    ),
    Phrase(
        "because directory {} has no uuid",
        "a log directory failed, and has no directory.id by which the controller could be told, so the broker stops. What is on"
        " the disks is not deleted; an earlier line says why the directory failed",
        ("io-error", "permission-denied", "file-vanished"),
        is_general=True,
    ),
    Phrase(
        "unable to alter log dirs for|the future log dir {} is different from the requested log dir|can not create the future log"
        " for",
        f"a replica is not moved to another log directory of the broker. It remains where it is, and nothing is lost. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "unable to describe replica dirs for|error while describing replica in dir",
        f"a tool asked what is in a log directory, and the broker could not say: it is offline or cannot be read. {_WHY}",
        ("io-error", "permission-denied"),
        is_general=True,
    ),
    # shutdown
    Phrase(
        "to approve controlled shutdown|waiting for controlled shutdown future|error during controlled shutdown, possibly"
        "|retrying controlled shutdown after the previous attempt failed",
        "a broker that stops did not get its leaders moved away in time. It tries again, or stops without that; its logs are"
        " closed in the normal way all the same, and clients wait longer for new leaders",
    ),
    # KRaft's active controller
    Phrase(
        "renouncing the leadership due to|we were the leader in epoch {} and are still the leader",
        "there was an election among the controllers, in which the active one was replaced or confirmed. Committed metadata are"
        " not lost; requests that wait are repeated. If it happens often, look at the network, pauses and disks of the"
        " controllers",
    ),
    Phrase(
        "no controller appears to be active|the active controller appears to be node|not the correct controller"
        "|NOT_CONTROLLER|is not the active controller",
        "a request reached a controller that is not the active one, and is repeated elsewhere. If no controller is active for"
        " longer, most of the controllers are down or do not reach each other",
    ),
    Phrase(
        "metadata.version using the kafka-storage tool",
        "the metadata log is empty, and there is no bootstrap.checkpoint: the directory was not formatted with"
        " kafka-storage.sh, or its disk is not mounted. If there should be metadata, do not format: look at metadata.log.dir"
        " first",
    ),
    Phrase(
        "error updating {} with new configuration",
        "a changed configuration could not be applied on this node, where the previous one remains. Records are not affected."
        f" {_WHY}",
        is_general=True,
    ),
    Phrase(
        "failed to complete initial acl load process",
        f"the node could not load the ACLs of the metadata, and does not start to serve. Records are not affected. {_WHY}",
        is_general=True,
    ),
    # ZooKeeper's controller
    Phrase(
        "does not match current session|keepererrorcode = nodeexists",
        "ZooKeeper still has the session of the broker's last run, or another broker has the same id."
        f" {_ON_DISK}; wait for zookeeper.session.timeout.ms, and look whether two brokers run",
    ),
    Phrase(
        "ignoring leaderandisr request {} since its|ignoring stopreplica request {} since its",
        "a broker ignored a request of a controller that had been replaced, or one that says nothing new. This is normal after a"
        " change of controller",
    ),
    Phrase(
        "cannot become follower since the new leader",
        "a broker was told to follow a leader that it does not know to be alive, so it does not fetch this partition until the"
        " controller says so again. Nothing is lost; look at the leader, and at the controller's log",
    ),
    Phrase(
        "a zookeeper client exception has occurred",
        "ZooKeeper could not be reached, so the broker neither leads nor follows this partition as it was told. Nothing is lost;"
        " look at ZooKeeper. If the partition remains without a leader, restart the broker",
    ),
    Phrase(
        "timed out waiting for connection while in state: connecting|zookeeperclienttimeoutexception",
        f"the broker does not reach ZooKeeper, and does not start. {_ON_DISK}; look at zookeeper.connect, and at ZooKeeper"
        " itself",
    ),
    Phrase(
        "controller moved to another broker|controller has already moved|a controller has been elected but just resigned"
        "|leader and isr path written by another controller|error while electing or becoming controller|forcing the controller to"
        " resign",
        "the controller changed from one broker to another, and the new one continues. Nothing is lost; if it happens often, look"
        " at the sessions with ZooKeeper",
    ),
    Phrase(
        "failed to complete preferred replica leader election|error completing replica leader election|error completing"
        " reassignment of partition|error while moving some partitions to|error while moving some replicas to"
        "|while processing leaderandisr request|received error {} in leaderandisr response|received error {} in updatemetadata"
        " response",
        "a change of leader or replicas did not succeed: the replica is not in sync or its broker not available. The partition"
        " remains with the leader and replicas that it had; the text beside it says why",
        is_general=True,
    ),
    # topics that cannot be created
    Phrase(
        "brokers are currently fenced or in controlled shutdown|larger than available brokers|the target replication factor of"
        "|auto topic creation failed for|are fenced or in controlled shutdown",
        f"a topic cannot be created, because too few brokers are alive for it, or its name or settings are refused. {_ON_DISK}",
    ),
    # requests
    Phrase(
        "exception when handling request|unexpected error handling request|error when handling request|error while responding to"
        " offset request",
        f"a request failed, and its client gets an error. No record is changed by this line. {_WHY}",
        is_general=True,
    ),
)
