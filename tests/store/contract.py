"""What every store must do. A test module makes a class of it and gives it a `store` fixture: an open store that holds nothing."""

from tests.store.contract_audit import AuditContract
from tests.store.contract_batches import BatchesContract
from tests.store.contract_lists import ListsContract
from tests.store.contract_records import RecordsContract
from tests.store.contract_resources import ResourcesContract
from tests.store.contract_rounds import RoundsContract
from tests.store.contract_schedules import NamespacesContract, SchedulesContract
from tests.store.contract_sessions import SessionsContract
from tests.store.contract_workflows import WorkflowsContract


class StoreContract(
    WorkflowsContract,
    ListsContract,
    SessionsContract,
    RecordsContract,
    RoundsContract,
    AuditContract,
    ResourcesContract,
    BatchesContract,
    SchedulesContract,
    NamespacesContract,
):
    """All of it."""
