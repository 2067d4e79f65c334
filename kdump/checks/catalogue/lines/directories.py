"""What brokers say about log directories, disks, the JVM, and the identity of a node, when they start and while they run."""

from __future__ import annotations

from kdump.checks.catalogue.lines.phrase import Phrase

_WHY = "The reason is in the exception beside it, or in earlier lines: explain that one"
_DISK = ("io-error", "permission-denied", "file-vanished")
_IDENTITY = "Nothing is wrong with the records"

PHRASES = (
    # other brokers, and who this one is
    Phrase(
        "no locks available|/.lock: invalid argument",
        "the file system does not support locks, or its lock service is down, as on NFS: the broker cannot lock its log"
        " directory. Nothing is wrong with the files",
    ),
    Phrase(
        "socket server failed to bind|address already in use",
        "another process listens on this port, often this broker, which still runs. Nothing is wrong on disk",
    ),
    Phrase(
        "log directory {} is already formatted",
        "kafka-storage.sh format found a meta.properties in the directory, and left it as it is. Nothing is lost",
    ),
    Phrase(
        "failed to acquire lock on file .lock|lock on file .lock|another process or thread is using this directory"
        "|OverlappingFileLockException",
        "another broker process uses this directory; nothing is wrong on disk. Stop the other one (or wait for it to end) before"
        " you start this one, and do not delete .lock while it runs. On network storage, a dead host may still hold the lock",
    ),
    Phrase(
        "disk error while locking directory",
        "the file .lock cannot be opened: the directory is not writable for the broker, or the disk failed. No record is lost by"
        " this; the directory is offline",
        ("permission-denied", "io-error"),
        is_general=True,
    ),
    Phrase(
        "invalid cluster.id|inconsistentclusterid{}|doesn't match stored clusterid|expected cluster id {} but got"
        " cluster id|clusterid in the request does not match|INCONSISTENT_CLUSTER_ID",
        "meta.properties has the id of another cluster: the disk or directory belongs to one, or log.dirs,"
        f" zookeeper.connect or controller.quorum points to one. {_IDENTITY}, so find out which of them is wrong before you"
        " edit the file: the partitions of a directory that joins the wrong cluster are renamed to -stray. `kdump check"
        " LOG_DIRECTORY` shows its files",
    ),
    Phrase(
        "inconsistentbrokerid{}|inconsistentnodeid{}|doesn't match stored broker.id|InconsistentBrokerIdException|doesn't"
        " match stored node.id|InconsistentNodeIdException|stored node id {} doesn't match previous node id|stored node id",
        "meta.properties has the id of another broker: node.id or broker.id was changed, or the disk of another broker is"
        f" mounted here. {_IDENTITY}. Mount the right disk or set the right id; edit meta.properties only if the directory"
        " really moves to this broker",
    ),
    Phrase(
        "BrokerMetadata is not consistent across log.dirs|InconsistentBrokerMetadataException",
        "the log directories of this broker have meta.properties of different brokers or clusters: a disk of another one is"
        f" mounted here. {_IDENTITY}; compare meta.properties of all log.dirs",
    ),
    Phrase(
        "failed to read meta.properties {}(no such file or directory)|no readable meta.properties|no `meta.properties` found in"
        "|cannot start server since `meta.properties` could not be loaded|no meta.properties file under dir",
        "no log directory has a meta.properties that can be read: they were not formatted (kafka-storage.sh format), the disks"
        " are not mounted, or log.dirs is wrong. If records should be there, do not format: look at the mounts first, then copy"
        " the file from another log directory of this broker. With ZooKeeper, it is normal at the first start of a new disk",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "no broker id found, and|failed to generate broker.id",
        "neither the configuration nor a meta.properties has the broker's id. If the broker has run before, its disks are not"
        " mounted, or log.dirs is wrong: with a new id, it would start without its replicas",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "zk-based brokers that are not migrating only support version",
        "the directory was formatted for KRaft, but the broker is configured for ZooKeeper: process.roles is missing, or the disk"
        f" belongs to another cluster. {_IDENTITY}",
    ),
    Phrase(
        "reading meta.properties|failed to read meta.properties|unknown meta.properties version|invalid meta.properties"
        " version|unexpected version in loaded `meta.properties`|node.id was not found|cluster.id was not found|node.id was"
        " not specified in|cluster.id was not specified in|cluster id not found in|node id not found in|broker.id was not"
        " specified in|as a base-10 number|unable to read {} as a uuid",
        "meta.properties cannot be read, or lacks an entry. The records are not affected: copy it from another log"
        " directory of this broker (directory.id differs), or write a new one with its cluster.id and node.id",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "duplicate directory id|invalid reserved directory id|invalid resrved directory id",
        "two log directories have the same directory.id, because one was copied from the other, or one has a reserved id."
        " Take the copy out of log.dirs; nothing is lost",
        ("log-dir-file-bad",),
    ),
    Phrase(
        "error while writing meta.properties|failed to write meta.properties",
        "meta.properties could not be written: no space, no permission, or a failing disk. Records are not affected",
        ("permission-denied", "io-error"),
        is_general=True,
    ),
    Phrase(
        "another broker is registered with that broker id|a broker is already registered on the path"
        "|DuplicateBrokerRegistrationException|this broker id is already in use|in advertised listeners are already registered by"
        " broker|DUPLICATE_BROKER_REGISTRATION",
        "the controller knows a live broker with this id. Wait a few seconds after a restart; if it remains, two brokers have the"
        " same node.id. Nothing is wrong on disk",
    ),
    Phrase(
        "found unexpected metadata location in data directory",
        "__cluster_metadata-0 is in a log directory that is not metadata.log.dir: the setting was changed, or a disk was copied."
        " The broker does not start; set metadata.log.dir to where the partition is, or move the one that is not used away",
    ),
    # partitions and their directories
    Phrase(
        "duplicate log directories|duplicate log directory found",
        "two log directories contain the same partition, and the broker does not start. Nothing is lost: find out which copy is"
        " complete (`kdump check` and `kdump where TOPIC-PARTITION@OFFSET DIR DIR`), and move the other one out of log.dirs",
    ),
    Phrase(
        "not in the form of topic-partition",
        "a directory in the log directory is not named like a partition, and the broker does not start. Move it out of log.dirs"
        " (lost+found: use a subdirectory of the mount); nothing is lost",
        ("dir-odd",),
    ),
    Phrase(
        "found stray log dir|marked as stray|marked stray|loaded stray log|is stray|stray partition|stray partitions|stray"
        " replica",
        "according to the cluster, this directory is not a replica of the broker, or its topic has another id. It is renamed to"
        " -stray and not served; nothing is deleted. If the replica belongs here, find out why the cluster says otherwise",
        ("partition-metadata-bad", "dir-odd"),
    ),
    Phrase(
        "interrupted swap operation|deleting stray .clean file|deleting stray temporary file|deleting invalid swap file"
        "|compacted but has not been deleted|recovering file {} by renaming",
        "files of an interrupted cleaning are put into place, or deleted. This is normal after an unclean stop",
        ("leftover-swap", "leftover-cleaned"),
    ),
    Phrase(
        "skipping creation of log because there are potentially offline log directories",
        "a partition is not created, because it may be in a log directory that is offline. Bring the directory back; if it"
        " is lost for good, take it out of log.dirs, and the partition is replicated again",
    ),
    Phrase(
        "during logs loading: java.nio.bufferunderflowexception",
        "a log or a file beside it ended where a field was expected, and the broker does not start. `kdump forecast"
        " LOG_DIRECTORY` finds the partition",
        ("control-value-short", "varint-truncated", "snapshot-truncated"),
    ),
    Phrase(
        "during logs loading: {}producerfencedexception",
        "a marker has an older epoch than the batches of its transaction. Early brokers do not start with it (KAFKA-7698); 2.8"
        " and later ones log it, and start. `kdump check LOG_DIRECTORY` finds the partition",
        ("producer-epoch-regression",),
    ),
    Phrase(
        "during logs loading: java.lang.indexoutofboundsexception",
        "a batch is shorter than its fields, and the broker does not start. `kdump forecast LOG_DIRECTORY` finds the partition",
        ("batch-length-too-small", "uncovered-header-rot"),
    ),
    Phrase(
        "error in one of the threads during logs loading|error while loading log dir|error while loading log {}",
        "a log could not be loaded, and the broker does not start. The accompanying exception says why: explain that one. `kdump"
        " forecast LOG_DIRECTORY` finds the partition",
        is_general=True,
    ),
    # offline directories
    Phrase(
        "all log dirs {}have failed|none of the specified log dirs|no log directories available",
        "no log directory is left that works, and the broker stops. This line does not say why: an earlier one does, of each"
        " directory (no space, I/O error, permissions, a file that cannot be read). What is on the disks is not deleted",
        is_general=True,
    ),
    Phrase(
        "stopping serving logs|stopping serving replicas|stopping serving logs in dir|stopping serving replicas in dir|stopped"
        " serving replicas in dir|halting broker because dir|shutdown broker because the metadata log dir|shutdown broker"
        " because some log directory has failed|because the log directory has failed|in the failed log directory|marked"
        " offline, remaining directories|encountered i/o error in metadata log directory|are offline due to failure on log"
        " directory|is already offline due to a previous io|is offline due to a previous io|couldn't communicate offline log"
        " dir|log directory {} is offline",
        "a log directory was taken offline after an I/O error; its partitions are not served here, and nothing is deleted. An"
        " earlier line says why: look for `Error while` or an IOException. Mend the cause and restart: only a start brings the"
        " directory back",
        _DISK,
        is_general=True,
    ),
    Phrase(
        "but it resides in an offline log directory",
        "a topic was deleted and created again while the log directory with its old partition was offline. The new one is served"
        " from another directory; the old one is not used any more",
    ),
    Phrase(
        "in an offline log directory|offline due to disk error|offline due to storage error|may be in one of the offline"
        " directories|log directories {} are offline|replica for {} is offline|partition {} is offline|due to a storage"
        " error",
        "the partition's log directory is offline, so it is not served here. No record is deleted; the reason is an earlier line"
        " that says which directory failed, and why",
        is_general=True,
    ),
    Phrase(
        "error while appending records to|error while flushing log for|error while rolling log segment|error while creating log"
        " for|error while deleting {} in dir|error while renaming dir for|error while truncating log to offset|error while"
        " truncating the entire log|exception while reading from {} in dir|error while making broker the|error while fetching"
        " offset by timestamp|exception while increasing log start offset|error flushing topic|error while deleting producer"
        " state snapshot|exception while deleting {} in dir|error while changing replica dir|failed to change the {} file"
        " suffix|error while reading log segment|disk error while replicating data for|i/o exception in append to log|disk"
        " error while writing to",
        "an I/O error on this log directory, which is taken offline. A batch that was being written may be torn: the next start"
        f" removes it. {_WHY}",
        ("io-error", "permission-denied", "torn-tail"),
        is_general=True,
    ),
    Phrase(
        "disk error when trying to access log file|disk error when trying to access the log file|KAFKA_STORAGE_ERROR",
        "a broker could not read or write a log: its log directory is offline. The log of that broker says why; clients go on as"
        " soon as another replica leads",
        _DISK,
    ),
    Phrase(
        "not a readable log directory|failed to create data directory|failed to create or validate data directory"
        "|failed to load {} during broker startup|disk error while loading id|log dir {} is not found in the config",
        "a directory of log.dirs does not exist, cannot be created, or cannot be read: a disk is not mounted, or has other"
        " permissions. Look before you restart: an empty mount point would be filled with new replicas",
        ("permission-denied", "io-error", "file-vanished"),
        is_general=True,
    ),
    # the disk and the operating system
    Phrase(
        "no space left|disk quota exceeded",
        "the disk (or its inodes, or a quota) is full, and the log directory is offline. Nothing in the logs is deleted;"
        " the last batch may be torn, and the next start removes it. Make room first: never delete segments or indexes by hand."
        " `kdump forecast --after unclean LOG_DIRECTORY` says what the start does",
        ("torn-tail", "torn-header", "zero-tail"),
    ),
    Phrase(
        "input/output error|nfs: server {} not responding|i/o error, dev|buffer i/o error on dev|lost async page write",
        "the device could not read or write: this is a failing disk, controller or network volume, not Kafka. Look at the"
        " kernel's log (dmesg); `kdump check LOG_DIRECTORY` reads everything and names the files and bytes that cannot be"
        " read",
        ("io-error",),
    ),
    Phrase(
        "cannot access the file because it is being used by another process|the requested operation cannot be performed on"
        " a file with a user-mapped section open|accessdeniedexception: {}:\\{} ->",
        "Windows does not rename or delete files that are open or mapped, which Kafka needs. The log directory goes offline each"
        " time a segment is deleted or cleaned; no record is lost by this. Run the broker on Linux, or in WSL or a container",
    ),
    Phrase(
        "/.nfs{} device or resource busy",
        "NFS keeps a deleted file that is still open, under a name with .nfs, so its directory cannot be renamed or deleted, and"
        " the log directory goes offline. No record is lost by this; Kafka needs a local file system or a block device",
    ),
    Phrase(
        "ext4-fs error|xfs ({}): metadata|run xfs_repair|read-only file system|structure needs"
        " cleaning|bad message (os error|stale file handle|transport endpoint is not connected|remote i/o error|no such device"
        " or address",
        "the file system is damaged, was remounted read-only, or lost its device. Look at the kernel's log (dmesg), repair"
        " the file system, then ask `kdump check` and `kdump forecast --after unclean` before you start the broker",
        ("io-error",),
    ),
    Phrase(
        "a fault occurred in a recent unsafe memory access operation|a fault occurred in an unsafe memory access operation"
        "|sigbus (0x7)",
        "an index that is mapped into memory could not be read or written: the disk is full or fails, or something truncated the"
        " file. The log is not affected by the index; look at the space and at dmesg",
        ("io-error", "file-shrank"),
    ),
    Phrase(
        "map failed",
        "the JVM could not map an index into memory: the limit vm.max_map_count is too low for the number of segments (two"
        " maps each), or memory is short. Nothing is wrong with the files; raise the limit and restart",
    ),
    Phrase(
        "too many open files",
        "the broker reached its limit of open files (ulimit -n, LimitNOFILE): every segment and connection needs some. Nothing is"
        " wrong with the files, but the log directory may be offline until you raise the limit and restart",
    ),
    Phrase(
        "permission denied|accessdeniedexception|operation not permitted",
        "the broker may not read or write a file: often somebody ran Kafka or a tool as root, or restored files as another user."
        " Nothing is lost; set the owner of all files in the log directory, and restart",
        ("permission-denied",),
    ),
    Phrase(
        "out of memory: killed process|out of memory: kill process|OOMKilled|oom-kill|insufficient memory for the java runtime"
        "|os::commit_memory(",
        "the system had too little memory, so it killed a process or refused to start one. A broker that was killed has not"
        " stopped cleanly: `kdump forecast --after unclean LOG_DIRECTORY` says what the next start does",
    ),
    Phrase(
        "outofmemoryerror: java heap space|gc overhead limit exceeded|outofmemoryerror: direct buffer memory|cannot"
        " allocate memory|unable to create new native thread|unable to create native thread|outofmemoryerror: metaspace",
        "the JVM ran out of memory. A tool or client does so when it speaks plain text to a listener that expects TLS. If it is a"
        " broker that stops by this, the next start scans segments, and may remove a torn batch at the end: `kdump forecast"
        " --after unclean LOG_DIRECTORY` says what it does",
    ),
    Phrase(
        "(no such file or directory)|NoSuchFileException: {}",
        "a file that should be there is not: it was deleted or moved while the broker ran, as cleaners of /tmp and scripts do, or"
        " a topic was deleted meanwhile",
        ("file-vanished", "index-missing"),
        is_general=True,
    ),
    Phrase(
        "failed atomic move of",
        "a file could not be renamed in one step; the broker tries again in two. If that fails as well, an error follows",
        is_general=True,
    ),
    Phrase(
        "failed to delete producer state snapshot {} because it does not exist"
        "|failed to rename producer state snapshot {} because it was already deleted",
        "a producer snapshot that was to be deleted is already gone. Nothing is lost",
    ),
    Phrase(
        "delete of {} failed|failed to delete producer state snapshot|failed to rename producer state snapshot"
        "|failed to schedule next delete in kafka-delete-logs|exception in kafka-delete-logs thread|error unmapping index",
        "a file that was no longer needed could not be deleted; on Windows, because it is still mapped. No record is lost,"
        " the space is not freed",
        is_general=True,
    ),
    Phrase(
        "can not delete directory when|memory mapped buffer for log of {} is already closed",
        "a log was used while it was closed or deleted. No record of other partitions is affected",
    ),
    # wrappers
    Phrase(
        "exiting kafka due to fatal exception|exiting kafka.|halting kafka.|fatal error during kafkaserver startup"
        "|fatal error during broker startup|fatal error during controller startup|fatal error during kafkaserver shutdown"
        "|fatal error during broker shutdown|fatal error during controller shutdown|got exception while starting sharedserver"
        "|stopped due to fatal error with exit code|stopping the server as it encountered a fatal error",
        f"the broker stopped. This line does not say why. {_WHY}. `kdump check LOG_DIRECTORY` says whether its files would stop"
        " it again",
        is_general=True,
    ),
    Phrase(
        "kafka server is still starting up, cannot shut down",
        "the start failed, and so did the attempt to stop: this line follows from another. An earlier line says why the"
        " start failed",
        is_general=True,
    ),
    Phrase(
        "received a fatal error while waiting for",
        f"a part of the broker failed while it started, and the broker stops. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "error in one of the threads during logmanager shutdown",
        f"a log could not be closed, so the stop is not clean, and the next start scans its segments. {_WHY}. `kdump forecast"
        " LOG_DIRECTORY` says what the start does",
        is_general=True,
    ),
    Phrase(
        "proceeding to do an unclean shutdown",
        "leaders could not be moved away before the stop. The logs are closed in the normal way all the same; only clients wait"
        " longer for new leaders",
    ),
    Phrase(
        "uncaught exception in scheduled task",
        f"a task in the background failed, and runs again later. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "uncaught exception in thread",
        f"a thread ended, and what it did is not done any more until the process restarts. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "timed out while waiting for the controller to acknowledge|timed out while waiting for the initial broker metadata"
        "|timed out while waiting for the broker to be unfenced|timed out while waiting for all of the",
        "a step of the start did not finish in time, and the broker stops. The words after it say which; look at the"
        " controllers, and at the log before this line",
        is_general=True,
    ),
    Phrase(
        "received record batch larger than|error processing append operation on partition",
        f"a produce request failed, and its batch was not written. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "error processing fetch with max size|error processing fetch operation on partition|error processing delete records"
        " operation",
        f"a request for this partition failed. No record is changed by that. {_WHY}",
        is_general=True,
    ),
    Phrase(
        "error in the log cleaner|[kafka-log-cleaner-thread-{n}]: error due to|error due to (kafka.log.logcleaner",
        f"the cleaner's thread died, so compacted topics grow until the broker restarts. No record is lost. {_WHY}",
        is_general=True,
    ),
)
